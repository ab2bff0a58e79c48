"""One frozen model for each section of the settings file, with the defaults of the default mode.

A section does not refer to other sections; settings.py checks rules between two of them. docs/configuration.md explains
each key, and tests/config/test_documents.py compares the two.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from sonicpy.config.kinds import (
    Compat,
    Durability,
    FileOrNone,
    Folder,
    FunctionOrNone,
    GroupAccess,
    HostNames,
    InetOrNone,
    Inets,
    Limit,
    LogLevel,
    Megabytes,
    Number32,
    Ordered,
    Origins,
    Password,
    ProcessesOrAuto,
    Proxies,
    Ranking,
    Seconds,
    Share,
    Stemming,
    StopwordsMode,
    SuggestOrder,
    Text,
    TextOrNone,
    TrueOrFalse,
    UnicodeNormalization,
    WholeNumber,
    WholeNumberOrNone,
    Words,
    split_address,
)


class Section(BaseModel):
    """The base of all sections: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ServerConfig(Section):
    """[server]: the mode, logging, processes and keys."""

    compat: Compat = "none"
    log_level: LogLevel = "warn"
    slow_command_ms: Number32 = 0
    worker_time_limit: Seconds = 3600
    search_processes: ProcessesOrAuto = 0
    keys: FileOrNone = None
    secret: Password = Field(default=None, repr=False)
    embed: FunctionOrNone = None
    embed_required: TrueOrFalse = True


class ChannelConfig(Section):
    """[channel]: addresses, password and limits of Sonic Channel."""

    inet: Inets = ("127.0.0.1:1491", "[::1]:1491")
    unix_socket: FileOrNone = None
    tls_certificate: FileOrNone = None
    tls_key: FileOrNone = None
    tcp_timeout: Seconds = 300
    max_connections: Number32 = 10_000
    auth_password: Password = Field(default=None, repr=False)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Return each address of `inet` as (IP address or name, port)."""
        return [split_address(inet) for inet in self.inet]

    @property
    def inet_is_default(self) -> bool:
        """Return whether `inet` was not given, so that the server leaves out addresses that the machine lacks."""
        return "inet" not in self.model_fields_set


class MetricsConfig(Section):
    """[metrics]: a port of its own for monitoring."""

    inet: InetOrNone = None

    @property
    def address(self) -> tuple[str, int] | None:
        """`inet` as (IP address or name, port); None: it is not set."""
        return None if self.inet is None else split_address(self.inet)


class HttpConfig(Section):
    """[http]: the HTTP interface with JSON, and a web page that shows the index."""

    inet: InetOrNone = None
    read_only: TrueOrFalse = False
    page: TrueOrFalse = True
    origins: Origins = ()
    hosts: HostNames = ()
    proxies: Proxies = ()
    without_password: TrueOrFalse = False
    hits: TextOrNone = None

    @property
    def address(self) -> tuple[str, int] | None:
        """`inet` as (IP address, port); None: it is not set."""
        return None if self.inet is None else split_address(self.inet)


class NormalizationConfig(Section):
    """[normalization]: the way from token to term. The store records this section, and does not open with another."""

    unicode_normalization: UnicodeNormalization = "nfkc"
    diacritic_folding_enabled: TrueOrFalse = False
    stemming_enabled: TrueOrFalse = False


class TokenizationConfig(Section):
    """[tokenization]: the way from text to tokens. The store records this section, and does not open with another."""

    detect_special_patterns: TrueOrFalse = True
    compat_split_special_patterns: TrueOrFalse = True


class StopwordsConfig(Section):
    """[stopwords]: the stop words. The store records the settings that decide the stored words, and does not open with
    others."""

    mode: StopwordsMode = "weigh"
    allow: Words = ()
    deny: Words = ()


class SearchConfig(Section):
    """[search]: answers to queries, suggestions and lists. These settings may change at any start."""

    ranking: Ranking = "bm25"
    live_words: TrueOrFalse = True
    stemming: Stemming = "auto"
    complete: TrueOrFalse = True
    alternates_below: Number32 = 10
    suggest_order: SuggestOrder = "likely"
    query_limit_default: Limit = 10
    query_limit_maximum: Limit = 100
    query_alternates_try: Number32 = 4
    query_minimum_term_idf_default: Share = 0.1
    query_minimum_term_idf_minimum_object_count: Number32 = 100
    suggest_limit_default: Limit = 5
    suggest_limit_maximum: Limit = 20
    list_limit_default: Limit = 100
    list_limit_maximum: Limit = 500
    buckets_maximum: Limit = 1_000
    note_unanswered: TrueOrFalse = False


class KvPoolConfig(Section):
    """[store.kv.pool]: without effect, because there is one environment and it stays open."""

    inactive_after: Seconds = 1800


class KvDatabaseConfig(Section):
    """[store.kv.database]: keys for RocksDB, without effect on LMDB; only the kinds of their values are checked."""

    flush_after: Seconds = 900
    write_ahead_log: TrueOrFalse = True
    compression_type: Text = "zstd"
    parallelism: WholeNumber = 2
    max_files: WholeNumberOrNone = None
    write_buffer_size: WholeNumber = 16384


class KvConfig(Section):
    """[store.kv]: the place and the limits of the index itself."""

    path: Folder = Path("./data/store/")
    retain_word_objects: Number32 = 0
    durability: Durability = "interval"
    group_access: GroupAccess = "none"
    map_size_mb: Megabytes = 65536
    reader_limit_mb: Number32 = 4096
    query_cache_mb: Megabytes = 448
    pool: KvPoolConfig = KvPoolConfig()
    database: KvDatabaseConfig = KvDatabaseConfig()


class FstPoolConfig(Section):
    """[store.fst.pool]: the time for which unused word graphs stay open."""

    inactive_after: Seconds = 300


class FstGraphConfig(Section):
    """[store.fst.graph]: consolidation, and the limits of one graph."""

    consolidate_after: Seconds = 180
    max_size: Number32 = 2048
    max_words: Number32 = 250000


class FstConfig(Section):
    """[store.fst]: the word graphs. `path` has no effect, because they are under store.kv.path."""

    path: Folder = Path("./data/store/fst/")
    pool: FstPoolConfig = FstPoolConfig()
    graph: FstGraphConfig = FstGraphConfig()


class StoreConfig(Section):
    """[store]: the index, its word graphs, and the order of words."""

    kv: KvConfig = KvConfig()
    fst: FstConfig = FstConfig()
    order: Ordered = ()
