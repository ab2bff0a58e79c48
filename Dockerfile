# An image that takes the place of Sonic's: settings in /etc/sonic.cfg, the store in /var/lib/sonic/store, port 1491.
#
#   docker build -t sonicpy .
#   docker run -d -p 127.0.0.1:1491:1491 -v sonic-store:/var/lib/sonic/store \
#       -e SONIC_CHANNEL__AUTH_PASSWORD=choose-your-own sonicpy
#
# Settings of your own: -v /path/to/config.cfg:/etc/sonic.cfg:ro; let its channel.inet be 0.0.0.0:1491 and its
# store.kv.path lie below /var/lib/sonic/store.

ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# No pip in what is kept: the image installs nothing once it runs.
RUN python -m venv --without-pip /opt/sonicpy \
    && pip --python /opt/sonicpy/bin/python install --no-cache-dir .

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="sonicpy" org.opencontainers.image.licenses="MIT"
# A number as user lets Kubernetes see that it is not root. A new volume takes the owner of the folder it covers.
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
# ping without an address asks [::1]:1491 and 127.0.0.1:1491, so it finds a server on all addresses of either kind.
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["sonicpy", "ping"]
CMD ["sonicpy", "serve", "-c", "/etc/sonic.cfg"]
