"""The second port: /metrics for Prometheus, /healthz, /readyz and /readyz/search, over HTTP on threads of its own.

Only this file imports prometheus_client, and the server imports this file only if `metrics.inet` is set. Every answer
comes from the loop's thread, so a loop that hangs shows in all three.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, make_wsgi_app
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)

from sonicpy.errors import SonicError, StoreError
from sonicpy.server.connections.listeners import explaining, name_of
from sonicpy.server.watching.figures import LabelledFigures, ServerFigures
from sonicpy.server.watching.server_statistics import BOUNDS_S
from sonicpy.server.web.metrics_port import MetricsPage, MetricsPort, PageRequest
from sonicpy.server.web.server_figures import not_ready, server_figures
from sonicpy.version import VERSION

if TYPE_CHECKING:
    from sonicpy.server.service import BaseService

LOOP_S = 5.0
"""The time in seconds after which a loop without an answer counts as hanging: the time of ten thousand turns, or of a
very slow disk.
"""
TEXT = [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")]

Value = TypeVar("Value")


class LoopHangs(SonicError):
    """The loop's thread did not answer in time."""


class MetricsServer:
    """HTTP on one address.

    Args:
        service: the service to report on, of the running loop.

    Raises:
        SonicError: the address cannot be used.
    """

    def __init__(self, service: "BaseService", host: str, port: int) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        registry = CollectorRegistry()
        registry.register(FiguresCollector(lambda: self._ask(server_figures)))
        ProcessCollector(registry=registry)
        self._metrics = make_wsgi_app(registry)
        with explaining(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "metrics.inet"):
            self._port = MetricsPort(host, port, self._answer)
        self._thread = threading.Thread(target=self._port.serve_forever, name="metrics", daemon=True)
        self.name = name_of(self._port.socket)
        """The address, as host:port."""

    def start(self) -> None:
        """Start answering requests."""
        self._thread.start()

    async def stop(self) -> None:
        """Stop answering requests, and close the port."""
        await self._loop.run_in_executor(None, self._port.shutdown)
        self._port.server_close()

    def _answer(self, asked: PageRequest) -> MetricsPage:
        try:
            match asked.path:
                case "/metrics":
                    return self._page_of_metrics(asked)
                case "/healthz":
                    self._ask(lambda _: None)
                    return say(200, "ok")
                case "/readyz" | "/readyz/search" as path:
                    reason = self._ask(partial(not_ready, to_search=path != "/readyz"))
                    return say(503 if reason else 200, reason or "ready")
        except (LoopHangs, StoreError) as error:
            return say(503, str(error))
        return say(404, "there are /metrics, /healthz, /readyz and /readyz/search")

    def _page_of_metrics(self, asked: PageRequest) -> MetricsPage:
        """Return the page of metrics in a format that the client accepts, made by prometheus_client."""
        environ: dict[str, Any] = {"REQUEST_METHOD": "GET", "PATH_INFO": asked.path, "QUERY_STRING": asked.query}
        environ |= {"HTTP_ACCEPT": asked.accept, "HTTP_ACCEPT_ENCODING": asked.accept_encoding}
        begun: list[tuple[str, list[tuple[str, str]]]] = []
        body = b"".join(self._metrics(environ, lambda *start: begun.append(start)))
        status, headers = begun[0]
        return MetricsPage(int(status.split()[0]), headers, body)

    def _ask(self, question: Callable[["BaseService"], Value]) -> Value:
        """Return the result of `question`, called on the loop's thread. Raises LoopHangs if that takes too long."""

        async def ask() -> Value:
            await self._service.refresh_figures()
            return question(self._service)

        if self._loop.is_closed():
            raise LoopHangs("the server has stopped")
        asked = asyncio.run_coroutine_threadsafe(ask(), self._loop)
        try:
            return asked.result(LOOP_S)
        except TimeoutError:
            asked.cancel()
            raise LoopHangs(f"the server has not answered itself for {LOOP_S:.0f} s") from None


class FiguresCollector:
    """The figures of the server as metrics of Prometheus.

    Args:
        take: returns the present figures of the server.
    """

    def __init__(self, take: Callable[[], ServerFigures]) -> None:
        self._take = take

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering the collector reads no figures."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        now = self._take()
        yield InfoMetricFamily("sonicpy_build", "Version of the server.", {"version": VERSION})
        yield by_label("sonicpy_connections", "Open connections by mode; none: before START.", "mode", now.connections)
        yield CounterMetricFamily("sonicpy_connections_opened", "Connections opened.", now.connections_total)
        yield CounterMetricFamily("sonicpy_received_bytes", "Bytes of commands.", now.received_bytes_total)
        yield CounterMetricFamily("sonicpy_sent_bytes", "Bytes of replies.", now.sent_bytes_total)
        yield command_seconds(now)
        yield gauge("sonicpy_search_processes", "Search processes that serve connections.", now.search_processes)
        errors = CounterMetricFamily("sonicpy_errors", "Lines refused, and connections ended for it.", labels=["code"])
        for code, count in sorted(now.errors_total.items()):
            errors.add_metric([code], count)
        yield errors
        yield gauge("sonicpy_buckets", "Buckets that hold words.", now.buckets)
        yield gauge("sonicpy_pending_buckets", "Buckets with words that wait for consolidation.", now.pending_buckets)
        yield gauge("sonicpy_open_graphs", "Word graphs that are open.", now.open_graphs)
        yield gauge("sonicpy_uncommitted_changes", "Changes that only the log holds.", now.uncommitted)
        yield gauge("sonicpy_refusing", "1 while the store cannot be written.", now.is_refusing)
        yield gauge("sonicpy_store_used_bytes", "Used part of the store's map.", now.store_used_bytes)
        yield gauge("sonicpy_store_map_bytes", "Address space reserved for the store.", now.store_map_bytes)
        yield gauge("sonicpy_log_bytes", "Size of the log.", now.log_bytes)
        yield gauge(
            "sonicpy_oldest_reader_seconds",
            "Age of the oldest snapshot; 0: none is old.",
            now.oldest_reader_s,
        )
        yield gauge("sonicpy_pinned_bytes", "Growth of the store beside the oldest snapshot.", now.pinned_bytes)
        yield SummaryMetricFamily(
            "sonicpy_consolidation_seconds",
            "Consolidations, and how long they took.",
            count_value=now.consolidations_total,
            sum_value=now.consolidation_seconds_total,
        )
        yield from map(labelled, now.more)


def labelled(figures: LabelledFigures) -> Metric:
    """Return a metric with one value for each value of a label."""
    if figures.kind == "summary":
        summary = SummaryMetricFamily(figures.name, figures.meaning, labels=[figures.label])
        for key, value in figures.values.items():
            assert isinstance(value, tuple)
            summary.add_metric([key], count_value=value[0], sum_value=value[1])
        return summary
    family = (CounterMetricFamily if figures.kind == "counter" else GaugeMetricFamily)(
        figures.name, figures.meaning, labels=[figures.label]
    )
    for key, value in figures.values.items():
        assert not isinstance(value, tuple)
        family.add_metric([key], value)
    return family


def command_seconds(now: ServerFigures) -> Metric:
    """Return the histogram of command durations by verb."""
    family = HistogramMetricFamily(
        "sonicpy_command_seconds", "Commands, and how long the index took over them.", labels=["verb"]
    )
    for verb, figures in now.verbs.items():
        buckets = [(str(bound), float(count)) for bound, count in zip(BOUNDS_S, figures.up_to_bound, strict=True)]
        family.add_metric([verb], [*buckets, ("+Inf", float(figures.count))], figures.seconds)
    return family


def gauge(name: str, meaning: str, value: float) -> Metric:
    """Return a metric that may rise and fall.

    Args:
        meaning: a sentence about the metric.
    """
    return GaugeMetricFamily(name, meaning, value)


def by_label(name: str, meaning: str, label: str, values: dict[str, int]) -> Metric:
    """Return a gauge with one value for each value of a label.

    Args:
        meaning: a sentence about the metric.
    """
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def say(status: int, sentence: str) -> MetricsPage:
    """Return an answer of one line of text, with an HTTP status."""
    return MetricsPage(status, TEXT, f"{sentence}\n".encode())
