# An image that can replace Sonic's: settings in /etc/sonic.cfg, the store in /var/lib/sonic/store, port 1491.
#
#   docker build -t sonicpy .
#   docker run -d -p 127.0.0.1:1491:1491 -v sonic-store:/var/lib/sonic/store \
#       -e SONIC_CHANNEL__AUTH_PASSWORD=choose-your-own sonicpy
#
# The page and HTTP: add -e SONIC_HTTP__INET=0.0.0.0:8491 -p 127.0.0.1:8491:8491.
# To use your own settings, add -v /path/to/config.cfg:/etc/sonic.cfg:ro. In that file, set channel.inet to
# "0.0.0.0:1491" and store.kv.path to a folder below /var/lib/sonic/store.

ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# Extras, such as "[metrics]", or "[cluster,metrics]" for configs/cluster/compose.yaml.
ARG EXTRAS=
# Without pip: nothing is installed in the finished image.
RUN python -m venv --without-pip /opt/sonicpy \
    && pip --python /opt/sonicpy/bin/python install --no-cache-dir ".${EXTRAS}"

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="sonicpy" org.opencontainers.image.licenses="MIT"
# With a numeric user, Kubernetes can check that it is not root. A new volume gets the owner of the folder it covers.
RUN groupadd --gid 1491 sonic \
    && useradd --uid 1491 --gid 1491 --no-create-home --shell /usr/sbin/nologin sonic \
    && install -d -o sonic -g sonic -m 0700 /var/lib/sonic/store
COPY --from=build /opt/sonicpy /opt/sonicpy
COPY configs/container.cfg /etc/sonic.cfg
ENV PATH=/opt/sonicpy/bin:$PATH PYTHONUNBUFFERED=1
USER 1491:1491
WORKDIR /var/lib/sonic
VOLUME ["/var/lib/sonic/store"]
EXPOSE 1491
# Without an address, ping tries [::1]:1491 and 127.0.0.1:1491, so it finds a server on all IPv4 or IPv6 addresses.
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["sonicpy", "ping"]
CMD ["sonicpy", "serve", "-c", "/etc/sonic.cfg"]
