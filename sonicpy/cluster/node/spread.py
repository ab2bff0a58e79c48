"""Buckets of a spread collection: each has parts in several partitions, and an object lies in one of them.

    PUSH, POP, FLUSHO, COUNT of an object, EXISTS   ask the part of the object
    QUERY, SUGGEST                                  ask all parts for sketches of the words, QUERY then for objects,
                                                    SUGGEST for corrections if there are few completions
    LIST, COUNT of a bucket, FLUSHB, OBJECTS        ask all parts, and merge their answers

A part that does not answer is an error: never a silently partial answer.
"""

import asyncio
import json
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy.channel import replies
from sonicpy.channel.commands import (
    Command,
    Count,
    CountB,
    CountFacets,
    CountO,
    Exists,
    FlushB,
    FlushO,
    FlushV,
    List,
    Objects,
    Pop,
    Query,
    Stats,
    Suggest,
    Tag,
)
from sonicpy.cluster.node.desk import Desk
from sonicpy.cluster.node.grouped_spread import grouped
from sonicpy.cluster.node.merge import merge_figures
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.refined_spread import RefinedSpread
from sonicpy.cluster.peers.questions import Question, question_of
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.filters.sorting import highest_factor
from sonicpy.ids import Scope, check_names
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.fitting import Typed, suggest_fitting
from sonicpy.index.search.how import HowFound, corrected_text
from sonicpy.index.search.likeness import NamedBits, check_ranking, check_vectors, vector_for_parts
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.meaning import MeantRows, merge_meant
from sonicpy.index.search.packed_terms import PLAIN_FIELDS, pack_matching, pack_terms, pack_typed
from sonicpy.index.search.parts import RemotePart, merge
from sonicpy.index.search.plan import Plan, only_whole, to_plain
from sonicpy.index.search.ranking import PLANNERS
from sonicpy.index.search.refine import check_ranking as check_filters
from sonicpy.index.search.refine import check_spread
from sonicpy.index.search.sketch import columns_of, common_languages, holding_phrases, likely_completions
from sonicpy.index.search.statistics import Sketch, SummedStatistics
from sonicpy.index.search.suggest import suggest_alphabetical, suggest_likely
from sonicpy.index.search.suggest_passing import SUGGESTIONS_EXAMINED, most_passing
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.recorder import Recorder

CACHED_S = 1.0
"""The time in seconds after which the parts are asked again for the statistics of a query's words."""
CACHED_MAX = 1_000
REACH_MAX = 100_000
"""The largest sum of OFFSET and LIMIT: each part sends as many rows."""
WORDS_AT_ONCE = 2_000
"""The most words of a part that are read at once to count the words of a bucket."""
PART_SHIFT = 40
"""The number of bits below the number of the part in a position of OBJECTS."""


class _Planned(NamedTuple):
    """A plan that several queries use.

    Attributes:
        began: the time at which the parts were asked, by the monotonic clock in seconds.
        acknowledged: the positions in the logs of the parts up to which the node had acknowledged changes then.
        how: names the words by which objects answer.
        corrected: see `corrected_text`.
        columns: the columns of vectors of all parts; None: not known.
        parts: the partitions of the parts that may hold objects of the answer; None: those of all parts.
    """

    began: float
    acknowledged: tuple[int, ...]
    plan: Plan
    how: Callable[[], HowFound]
    corrected: str | None
    columns: list[NamedBits] | None
    parts: Sequence[int] | None

    def with_column(self, command: Query) -> Query:
        """Return a query whose vector names its column. Raises InvalidArgument if the vector fits no column."""
        if command.vector is None or self.columns is None:
            return command
        return command._replace(vector=vector_for_parts(command.vector, self.columns))


class Spread:
    """Answers commands about buckets that are spread.

    Args:
        recorder: reads the texts of queries.
    """

    def __init__(self, desk: Desk, places: Places, recorder: "Recorder") -> None:
        self._desk = desk
        self._places = places
        self._recorder = recorder
        self._plans: dict[Search, _Planned] = {}
        self._refined = RefinedSpread(desk, places, self._ask, self._plan)

    async def execute(self, command: Command) -> bytes:
        """Return the reply to a command.

        Raises:
            CommandError: the command is refused, or a spread bucket does not offer it.
            StoreError: a part does not answer.
        """
        if getattr(command, "buckets", ()):
            raise InvalidArgument("several buckets are refused: a bucket that is spread is asked alone")
        match command:
            case Query() | List() if (reach := command.offset + command.limit) > REACH_MAX:
                raise InvalidArgument(
                    f"OFFSET and LIMIT make {reach}; allowed are at most {REACH_MAX} together in a bucket that is "
                    "spread, and AFTER instead of OFFSET"
                )
            case Query() if self._recorder.config.search.ranking == "sonic":
                raise InvalidArgument("QUERY is refused: search.ranking is sonic, which a spread bucket does not offer")
            case Query() if command.group is not None:
                return await grouped(self, command)
            case Query() if command.is_refined and not command.is_by_score:
                return await self._refined.query(command)
            case Query():
                check_spread(command, self._recorder.config)
                return await self._query(command)
            case CountFacets():
                check_filters(self._recorder.config)
                return await self._refined.facets(command)
            case Suggest():
                return await self._suggest(command)
            case List():
                return await self._list(command)
            case Objects():
                return await self._objects(command)
            case Exists() | CountO() | Count(_, str(), str()):
                return await self._of_object(command)
            case Tag() | Pop() | FlushO():
                return replies.result(int(await self._of_object(command)))
            case CountB(collection, bucket, ()):
                counts = await self._ask(collection, bucket, "count_objects", collection, bucket)
                return replies.result(sum(map(json.loads, counts)))
            case Count(collection, str(bucket)):
                return replies.result(await self._count_words(collection, bucket))
            case FlushB(collection, bucket):
                return replies.result(max(map(int, await self._ask(collection, bucket, "FlushB", collection, bucket))))
            case FlushV(collection, bucket, column):
                gone = await self._ask(collection, bucket, "FlushV", collection, bucket, column)
                return replies.result(max(map(int, gone)))
            case Stats(str(collection), str(bucket)):
                found = await self._ask(collection, bucket, "stats", collection, bucket)
                return replies.json_result(merge_figures(list(map(json.loads, found))))
        raise InvalidArgument(f"{type(command).__name__.upper()} is refused: a bucket that is spread does not offer it")

    # -- for groups ----------------------------------------------------------------------------------------------------

    @property
    def config(self) -> "Config":
        """The settings of the node."""
        return self._recorder.config

    async def planned(self, command: Search) -> "_Planned | None":
        """Return the plan of a search; None: its text has no words."""
        return await self._plan(command)

    async def behind(self, command: Query, name: str) -> Sequence[Any]:
        """Return the place of the object that a page follows; see `RefinedSpread.behind`."""
        return await self._refined.behind(command, name)

    async def highest(self, command: Query) -> int | None:
        """Return the highest value in all parts, to which BOOST compares others; None: no BOOST, or no value."""
        if command.boost is None:
            return None
        found = await self._ask(*command.scope, "spread_highest", *command.scope, command.boost)
        return max((value for each in found if (value := json.loads(each)) is not None), default=None)

    async def ask(
        self, collection: str, bucket: str, kind: str, *fields: Any, parts: Sequence[int] | None = None
    ) -> list[bytes]:
        """Put the question `kind` with its `fields` to the partitions `parts` of a bucket, None: to all of its parts;
        return their answers. Raises StoreError if one does not answer.
        """
        return await self._ask(collection, bucket, kind, *fields, parts=parts)

    # -- questions -----------------------------------------------------------------------------------------------------

    async def _of_object(self, command: Any) -> bytes:
        partition = self._places.partition_of(command.collection, command.bucket, command.object)
        return await self._desk.ask(partition, question_of(command))

    async def _ask(
        self, collection: str, bucket: str, kind: str, *fields: Any, parts: Sequence[int] | None = None
    ) -> list[bytes]:
        """Return the answers of parts of a bucket to a question of this kind with these fields; see `ask`."""
        asked = self._places.parts_of(collection, bucket) if parts is None else parts
        return await self._ask_each([(part, kind, fields) for part in asked])

    async def _ask_each(
        self, questions: Sequence[tuple[int, str, tuple[Any, ...]]], *, once: bool = False
    ) -> list[bytes]:
        asked = [self._desk.ask(part, Question(kind, fields), once=once) for part, kind, fields in questions]
        answers: list[bytes] = []
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return answers

    # -- words ---------------------------------------------------------------------------------------------------------

    async def _query(self, command: Query) -> bytes:
        planned = await self._plan(command)
        plan = None if planned is None else planned.plan
        collection, bucket, limit, offset, total = (
            command.collection, command.bucket, command.limit, command.offset, command.total,
        )  # fmt: skip
        if planned is None or plan is None:
            return replies.hits(
                [], 0 if total else None, scores=command.scores, counts_whole=command.counts_whole, whole=0,
                hows=[] if command.how else None,
            )  # fmt: skip
        if command.how + (command.boost is not None) + (command.vector is not None) > 1:
            return await self._scored(command, planned)
        if command.vector is not None:
            names, scores, count = await self._meant(command, planned)
            whole = await self._whole(command, planned, count)
            pairs, counts_whole = zip(names, scores, strict=True), command.counts_whole
            return replies.hits(pairs, count, scores=command.scores, counts_whole=counts_whole, whole=whole)
        fields = (collection, bucket, to_plain(plan), offset + limit, total)
        found = await self._find(command, planned, *fields, how=command.how)
        most = highest_factor(command.boost)
        page = merge([RemotePart(rows, count) for rows, count, *_ in found], plan, limit, offset, most)
        is_scored = self._recorder.config.search.ranking != "newest"
        shown = page.scores if is_scored else [None] * len(page.names)
        whole = await self._whole(command, planned, page.total)
        hows = None
        if command.how:
            how = planned.how()
            held = {row[0]: numbers for rows, _, words in found for row, numbers in zip(rows, words, strict=True)}
            hows = [how.of(held[name]) for name in page.names]
        return replies.hits(
            zip(page.names, shown, strict=True), page.total, scores=command.scores, counts_whole=command.counts_whole,
            whole=whole, hows=hows, corrected=planned.corrected,
        )  # fmt: skip

    async def _scored(self, command: Query, planned: "_Planned") -> bytes:
        """Return the reply to a QUERY with several of the options that change scores."""
        plan, how = planned.plan, planned.how()
        if command.vector is not None:
            check_ranking(self._recorder.config)
            command = planned.with_column(command)
        wanted = max(command.depth if command.vector is not None else 0, command.offset + command.limit)
        fields = (list(Search(*command)), to_plain(plan), wanted, await self.highest(command))
        found = await self._ask(*command.scope, "spread_scored", *fields, parts=planned.parts)
        answers = list(map(json.loads, found))
        check_vectors(refusal for *_, refusal in answers)
        most = highest_factor(command.boost)
        if command.vector is not None:
            meant = [MeantRows(rows, sums, total) for rows, total, _, sums, *_ in answers]
            names, scores, total = merge_meant(meant, plan, command, most)
        else:
            parts = [RemotePart(rows, total) for rows, total, *_ in answers]
            page = merge(parts, plan, command.limit, command.offset, most)
            names, scores, total = page.names, page.scores, page.total
        hows = None
        if command.how:
            held = {row[0]: words for rows, _, numbers, *_ in answers for row, words in zip(rows, numbers, strict=True)}
            hows = [how.of(held[name]) for name in names]
        return replies.hits(
            zip(names, scores, strict=True), total, scores=command.scores, counts_whole=command.counts_whole,
            whole=await self._whole(command, planned, total), hows=hows, corrected=planned.corrected,
        )  # fmt: skip

    async def _meant(self, command: Query, planned: "_Planned") -> tuple[list[str], list[float], int | None]:
        """Return a page by words and meaning: names, scores and the number of all objects."""
        check_ranking(self._recorder.config)
        command, plan = planned.with_column(command), planned.plan
        wanted = max(command.depth, command.offset + command.limit)
        more = () if command.filter is None else (command.filter,)
        fields = (*command.scope, to_plain(plan), wanted, command.total, command.vector, command.depth, *more)
        found = await self._ask(*command.scope, "spread_meant", *fields, parts=planned.parts)
        answers = list(map(json.loads, found))
        check_vectors(refusal for *_, refusal in answers)
        return merge_meant([MeantRows(rows, sums, total) for rows, sums, total, _ in answers], plan, command)

    async def _whole(self, command: Query, planned: "_Planned", total: int | None) -> int | None:
        """Return the number of objects that answer by whole words; None: it was not asked for."""
        whole = only_whole(planned.plan)
        if not command.counts_whole or whole is None:
            return total if command.counts_whole else None
        fields = (command.collection, command.bucket, to_plain(whole), 0, True)
        return sum(int(count) for _, count in await self._find(command, planned, *fields))

    async def _find(self, command: Query, planned: "_Planned", *fields: Any, how: bool = False) -> list[Any]:
        """Return the best objects of each part, and the number of all; see `SpreadParts.spread_find`."""
        kind: str = "spread_find"
        more: tuple[str | int | None, ...] = ()
        if command.boost is not None:
            kind, more = "spread_aged", (command.filter, command.boost, await self.highest(command))
        elif command.filter is not None:
            kind, more = "spread_find_filtered", (command.filter,)
        kind = "spread_how" if how else kind
        found = await self._ask(*command.scope, kind, *fields, *more, parts=planned.parts)
        return [json.loads(answer) for answer in found]

    async def _plan(self, command: Search) -> "_Planned | None":
        """Return the plan of a query, not older than CACHED_S, and not older than the newest change that this node
        acknowledged in a partition of the bucket; None: its text has no words.
        """
        key = command.question
        cached, began = self._plans.get(key), time.monotonic()
        parts = self._places.parts_of(*key.scope)
        acknowledged = self._desk.acknowledged(parts)
        if (
            cached is not None
            and began - cached.began < CACHED_S
            and cached.acknowledged == acknowledged
            and not self._desk.is_strong
        ):
            return cached
        recorder = self._recorder
        rules, fields = await self._desk.rules.find(*key.scope), await self._fields(key)
        terms, matching = recorder.read_query(key, rules, fields)
        if asks_nothing(terms):
            return None
        sketches = await self._sketches(key.scope, pack_terms(terms), matching, parts)
        if matching is not None and (languages := common_languages(sketches)):
            common = matching._replace(languages=languages)
            sketches = await self._sketches(key.scope, pack_terms(terms), common, parts)
        statistics = SummedStatistics(sketches)
        plan = PLANNERS[recorder.config.search.ranking](statistics, terms, recorder.config.search, matching)
        if len(self._plans) >= CACHED_MAX:
            self._plans.clear()
        how, corrected = partial(HowFound, plan, terms), corrected_text(key.text, plan, statistics)
        holding = holding_phrases(plan, sketches)
        asked = None if holding is None else [parts[place] for place in holding]
        planned = _Planned(began, acknowledged, plan, how, corrected, columns_of(sketches), asked)
        self._plans[key] = planned
        return planned

    async def _fields(self, key: Search) -> frozenset[str]:
        """Return the names of the named texts of a bucket, if the syntax of a query can name them."""
        if key.syntax != "web" or ":" not in key.text:
            return frozenset()
        return frozenset(chain.from_iterable(map(json.loads, await self._ask(*key.scope, "spread_fields", *key.scope))))

    async def _sketches(
        self, scope: Scope, terms: Sequence[Any], matching: Matching | None, parts: Sequence[int]
    ) -> list[Sketch]:
        """Return the sketch of each of the parts of a bucket for the words of a query."""
        kind = "spread_asked" if len(terms) > PLAIN_FIELDS else "spread_terms"
        found = await self._ask(*scope, kind, *scope, terms, pack_matching(matching), parts=parts)
        return [json.loads(sketch) for sketch in found]

    async def _suggest(self, command: Suggest) -> bytes:
        collection, bucket, word, limit, filter, _ = command
        check_names(collection, bucket)
        typed = self._recorder.read_typed(word, await self._desk.rules.find(collection, bucket))
        if filter is not None:
            check_filters(self._recorder.config)
            found = (await self._fitting(command, typed)) if typed.before else []
            found = found or await self._passing(command, typed.word, filter)
            if found or not typed.joined:
                return replies.event("SUGGEST", typed.shown(found[:limit]))
            found = await self._passing(command, typed.whole, filter)
            return replies.event("SUGGEST", [word.decode() for word in found[:limit]])
        if typed.before and ((found := await self._fitting(command, typed)) or not typed.joined):
            return replies.event("SUGGEST", typed.shown(found))
        term = typed.whole or typed.word
        order = self._recorder.config.search.suggest_order
        if order == "likely":
            completions = await self._completions(collection, bucket, term, limit)
            if len(completions) == limit:
                return replies.event("SUGGEST", completions)
        found = await self._ask(collection, bucket, "spread_word", collection, bucket, term.decode())
        statistics = SummedStatistics([json.loads(sketch) for sketch in found])
        if order == "likely":
            words = suggest_likely(statistics, term, limit)
        else:
            words = suggest_alphabetical(statistics, term, limit, typed.length)
        return replies.event("SUGGEST", [word.decode() for word in words])

    async def _passing(self, command: Suggest, term: bytes, filter: str) -> list[bytes]:
        """Return the suggestions that occur in objects which pass a filter."""
        scope = (command.collection, command.bucket)
        sketches = await self._ask(*scope, "spread_word", *scope, term.decode())
        words = suggest_likely(SummedStatistics(list(map(json.loads, sketches))), term, SUGGESTIONS_EXAMINED)
        counts = await self._ask(*scope, "spread_passing", *scope, [word.decode() for word in words], filter)
        return most_passing(term, words, map(json.loads, counts))

    async def _fitting(self, command: Suggest, typed: Typed) -> list[bytes]:
        """Return the suggestions for a text of several words."""
        scope = Scope(command.collection, command.bucket)
        sketches = await self._typed_sketches(scope, typed)
        if languages := common_languages(sketches):
            before = [(word, matching and matching._replace(languages=languages)) for word, matching in typed.before]
            sketches = await self._typed_sketches(scope, typed._replace(before=before))
        filter = command.filter
        kind, more = ("spread_together", ()) if filter is None else ("spread_passing_together", (filter,))
        steps = suggest_fitting(SummedStatistics(sketches), typed, command.limit, filtered=filter is not None)
        counts: list[int] | None = None
        while True:
            try:
                groups, words = next(steps) if counts is None else steps.send(counts)
            except StopIteration as end:
                found: list[bytes] = end.value
                return found
            fields = ([[word.decode() for word in group] for group in groups], [word.decode() for word in words])
            answers = await self._ask(*scope, kind, *scope, *fields, *more)
            counts = [sum(each) for each in zip(*map(json.loads, answers), strict=True)]

    async def _typed_sketches(self, scope: Scope, typed: Typed) -> list[Sketch]:
        return [json.loads(each) for each in await self._ask(*scope, "spread_typed", *scope, pack_typed(typed))]

    async def _completions(self, collection: str, bucket: str, term: bytes, limit: int) -> list[str]:
        """Return the likely completions of a word; an empty list if a part reads completions from a graph, or if its
        nodes run a version that cannot answer this.
        """
        fields = (collection, bucket, term.decode())
        questions = [(part, "spread_completions", fields) for part in self._places.parts_of(collection, bucket)]
        try:
            found = await self._ask_each(questions, once=True)
        except StoreError:  # the next question raises the error, if all versions know that question
            return []
        packed = [part for part in map(json.loads, found) if part is not None]
        return likely_completions(list(map(b64decode, packed)), term, limit) if len(packed) == len(found) else []

    async def _list(self, command: List) -> bytes:
        collection, bucket, limit, offset, prefix, after, _ = command
        fields = (collection, bucket, offset + limit, prefix, after)
        words = {
            word for part in await self._ask(collection, bucket, "spread_list", *fields) for word in json.loads(part)
        }
        return replies.event("LIST", sorted(words, key=str.encode)[offset : offset + limit])

    async def _count_words(self, collection: str, bucket: str) -> int:
        """Return the number of different words in a bucket, found by reading all of them in steps."""
        check_names(collection, bucket)
        after: dict[int, str | None] = dict.fromkeys(self._places.parts_of(collection, bucket))
        seen: set[int] = set()
        while after:
            pages = await self._ask_each(
                [(part, "spread_list", (collection, bucket, WORDS_AT_ONCE, "", last)) for part, last in after.items()]
            )
            for part, page in zip(list(after), map(json.loads, pages), strict=True):
                seen.update(hash(word) for word in page)
                if len(page) < WORDS_AT_ONCE:
                    del after[part]
                else:
                    after[part] = page[-1]
        return len(seen)

    # -- objects -------------------------------------------------------------------------------------------------------

    async def _objects(self, command: Objects) -> bytes:
        """Return the reply to OBJECTS: names part by part, within a part in the order of their first push."""
        collection, bucket, limit, prefix, after, position = command
        check_names(collection, bucket)
        parts = self._places.parts_of(collection, bucket)
        number, inner = divmod(position or 0, 1 << PART_SHIFT)
        if position is None and after is not None:
            partition = self._places.partition_of(collection, bucket, after)
            number = parts.index(partition)
            inner = json.loads(await self._desk.ask(partition, Question("position_after", (collection, bucket, after))))
        if number >= len(parts):
            return replies.json_result({"objects": [], "next": None})
        fields = (collection, bucket, limit, prefix, None, inner)
        reply = await self._desk.ask(parts[number], Question("Objects", fields))
        page = json.loads(reply.decode().removeprefix("RESULT "))
        following = page["next"]
        if following is not None:
            page["next"] = number << PART_SHIFT | following
        elif number + 1 < len(parts):
            page["next"] = number + 1 << PART_SHIFT
        return replies.json_result(page)
