"""Answers: the methods of Index that search and count. Any thread may call them."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Unpack

from sonicpy._native.answer_cache import AnswerCache
from sonicpy._native.ids import are_names
from sonicpy._native.terms import PART, Terms
from sonicpy.api.counted import Counted, counted
from sonicpy.api.hits import Hits, with_facets, with_hows
from sonicpy.arguments import NUMBER_MAX, language_of, number_of, text_of
from sonicpy.bucket_names import AnyBucket, one_or_several, only_one
from sonicpy.errors import InvalidArgument
from sonicpy.ids import ObjectName, check_collection, check_names
from sonicpy.index.ingest.given_vectors import Embed, embedded_question
from sonicpy.index.search import count as counting
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.query import NO_TERMS, query, query_hits
from sonicpy.index.search.several import UnitedLexicon, parts_of
from sonicpy.index.texts import TextReader, check_scope, encoded, word_prefix
from sonicpy.late import late
from sonicpy.lexer.lexer import Lexer
from sonicpy.options import checked, with_options
from sonicpy.search import (
    ExplainOptions,
    FacetOptions,
    FacetSearch,
    FacetsLike,
    FilterLike,
    QueryOptions,
    Search,
    SimilarOptions,
    asked,
    asks_newest,
    facets_asked,
    joined,
)
from sonicpy.store.rows.named_words import TEXT_NAMES, unpack_names

if TYPE_CHECKING:
    from sonicpy.api.explanation import Explanation
    from sonicpy.api.facets import Facets
    from sonicpy.filters.conditions import Condition
    from sonicpy.filters.grammar import condition_of
    from sonicpy.index.engine import Engine
    from sonicpy.index.report.unanswered import Questions
    from sonicpy.index.search.matching import Matching
    from sonicpy.index.search.suggest import suggest_alphabetical, suggest_likely
    from sonicpy.index.search.web_syntax import wanted_text
else:
    condition_of = late("sonicpy.filters.grammar", "condition_of", __name__)
    wanted_text = late("sonicpy.index.search.web_syntax", "wanted_text", __name__)
    suggest_alphabetical = late("sonicpy.index.search.suggest", "suggest_alphabetical", __name__)
    suggest_likely = late("sonicpy.index.search.suggest", "suggest_likely", __name__)

Moment = tuple[object, ...] | None
"""The state of a bucket, or of several, which is compared to notice a change; None: there was no bucket."""
Kept = tuple[int, Moment, list[str]]
"""The stamp of the store (`Store.readable_stamp`), the moment of the bucket, the answer."""


class Answers(TextReader):
    """The methods of an index that search and count."""

    _engine: "Engine"
    _kept: AnswerCache
    _embed: Embed | None = None
    questions: "Questions | None"
    """The questions that found nothing; None: they are not noted."""

    @with_options("QUERY")
    def query(
        self,
        collection: str,
        bucket: AnyBucket,
        text: str,
        *,
        facets: FacetsLike = None,
        **options: Unpack[QueryOptions],
    ) -> Hits:
        """Return the objects that answer a text, best first, with their scores.

        Args:
            facets: the facets to count, for `Hits.facets`: beginnings of tags, such as ["size:*"]; or a dict, also with
                names of values and the bounds of their ranges: {"size:*": None, "price": [0, 1000]}.
            bucket: its name, or a list of names, which are searched as one bucket with all objects: `forum:*` in a list
                means all names that begin with `forum:`, and `'"a,b"'` a name with a comma, a star, a bracket or a
                quote. At most search.buckets_maximum. Then each hit names its bucket, and equal scores are in the order
                of the list.
            options: see [the options of a query](#options).

        Raises:
            InvalidArgument: like `push`; an option has a value that is not allowed.
        """
        search = asked("QUERY", collection, bucket, text, options)
        if self._embed is not None:
            search = self._with_vector(search)
        search, counted = (search, None) if facets is None else joined(search, facets)
        found = self.find_hits(search)
        return found if counted is None else with_facets(found, self.find_facets(counted))

    @with_options("EXPLAIN")
    def explain(
        self, collection: str, bucket: AnyBucket, text: str, **options: Unpack[ExplainOptions]
    ) -> "Explanation":
        """Return the reasons for the answer of `query` with the same arguments. Raises like `query`."""
        return self.find_reasons(self._with_vector(asked("EXPLAIN", collection, bucket, text, options)))

    @with_options("FACETS")
    def facets(self, collection: str, bucket: AnyBucket, text: str = "", **options: Unpack[FacetOptions]) -> "Facets":
        """Return how many of the objects that answer a text hold each tag, or have a value in each range.

        Args:
            options: those of `query`, and the following ones. `limit` is the most tags for each beginning.
            of: beginnings of tags, such as "size:*, color:*"; "*": all tags.
            ranges: values with bounds, such as "price: 0,1000,5000; time: 0".
            apart: count each facet without the conditions of the filter on its own tags or values, if `AND` joins them.

        Raises:
            InvalidArgument: like `query`.
        """
        return self.find_facets(facets_asked(collection, bucket, text, options))

    def find_facets(self, asked: FacetSearch) -> "Facets":
        """Return the counts that a FacetSearch asks for. Raises like `facets`."""
        from sonicpy.filters.sorting import facets_of  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.search.faceting import count_all_facets, no_facets  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.search.refine import condition_of, wanted_of  # noqa: PLC0415  loaded when it is needed

        check_scope(asked.search)
        facets = facets_of(asked.of, asked.ranges)
        with self._reading(asked.collection, asked.bucket, asked.buckets) as lexicon:
            search = asked.search
            terms, matching = self._terms_in(lexicon, search)
            if lexicon is None:
                return no_facets(facets)
            wanted = wanted_of(lexicon, search, terms, self._config, matching)
            condition = condition_of(asked.filter)
            return count_all_facets(wanted, condition, facets, apart=asked.apart, limit=asked.limit)

    def objects_passing(
        self, collection: str, bucket: str, filter: str, *, limit: int | None = None, below: int | None = None
    ) -> tuple[int | None, list[tuple[int, str]]]:
        """Return the number of a bucket, and the IIDs and names of its objects that pass a filter, the newest first;
        the number of a bucket that does not exist is None.

        Args:
            limit: the most objects; None: all.
            below: only objects with an IID below this one, which are older; None: all. A bucket of another number
                counts its IIDs anew.
        """
        from sonicpy.index.search.masks import everybody  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.search.refine import check_ranking  # noqa: PLC0415  loaded when it is needed

        check_scope(Search(collection, bucket, "", 0, 0, None))
        check_ranking(self._config)
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return None, []
            reader, most = lexicon.reader, lexicon.reader.state.next_iid
            found = everybody(reader, condition_of(filter))
            iids = found.newest(most if limit is None else limit, most if below is None else below)
            return reader.state.bucket, list(zip(iids, reader.oids(iids), strict=True))

    def find_hits(self, search: Search) -> Hits:
        """Return the answer to a search. Raises like `query`."""
        collection, bucket, buckets = search.collection, search.bucket, search.buckets
        if not are_names(collection, bucket):
            check_names(collection, bucket)
        reading = self._reading(collection, bucket, buckets) if buckets else self._engine.read_words(collection, bucket)
        with reading as lexicon:
            terms, matching = self._terms_in(lexicon, search)
            if lexicon is None:
                none = Hits(total=0, whole=0) if search.total else Hits()
                return with_hows(none) if search.how else none
            hits = query_hits(lexicon, terms, self._config, search, matching)
        if self.questions is not None and not hits:
            self._note_unanswered(search)
        return with_hows(hits) if search.how else hits

    def find_ids(self, search: Search) -> list[str]:
        """Return the names of the hits of `find_hits` as the server sends them; if several buckets are searched, in the
        form of `in_bucket`."""
        store = self._engine.store
        stamp = store.readable_stamp()
        kept = self._kept.get(search)
        if kept is not None and kept[0] == stamp:
            if self.questions is not None and not kept[2]:
                self._note_unanswered(search)
            return kept[2].copy()
        collection, bucket, buckets = search.collection, search.bucket, search.buckets
        if not are_names(collection, bucket):
            check_names(collection, bucket)
        reading = self._reading(collection, bucket, buckets) if buckets else self._engine.read_words(collection, bucket)
        with reading as lexicon:
            terms, matching = self._terms_in(lexicon, search)
            if lexicon is None:
                return []
            moment = lexicon.moment
            if kept is not None and kept[1] == moment:
                answer = kept[2]
            else:
                answer = query(lexicon, terms, self._config, search, matching)
        if stamp is not None and stamp == store.readable_stamp():  # else the store has changed since
            self._kept.put(search, (stamp, moment, answer))
        if self.questions is not None and not answer:
            self._note_unanswered(search)
        return answer.copy()

    def query_ids(self, collection: str, bucket: AnyBucket, text: str, **options: Unpack[QueryOptions]) -> list[str]:
        """Return the objects of `query` as a plain list of names."""
        search = self._with_vector(asked("QUERY", collection, bucket, text, options))
        return self.find_hits(search).objects if search.buckets else self.find_ids(search)

    def find_reasons(self, search: Search) -> "Explanation":
        """Return the reasons for the answer to a search. Raises like `query`."""
        from sonicpy.api.explanation import DetectedLanguage  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.search.explain import Analysed, explain  # noqa: PLC0415  loaded when it is needed

        check_scope(search)
        with self._reading(search.collection, search.bucket, search.buckets) as lexicon:
            lexer = self._lexer(lexicon)
            fields = _fields_of(lexicon, search)
            terms, matching = self._query_terms(search, lexer, fields)
            lang, text = language_of(search.lang), wanted_text(search.text, search.syntax, fields)
            code, how = lexer.language(text, lang)
            held = set(terms.words)
            analysed = Analysed(
                search,
                DetectedLanguage(code, how),
                terms,
                [word for word in lexer.dropped(text, lang) if word not in held],
                frozenset(word for word in terms.words if lexer.is_stop_word(word, code)),
                matching,
                lexer.rules,
                fields,
            )
            return explain(analysed, lexicon, self._config)

    def suggest(
        self, collection: str, bucket: AnyBucket, word: str, *, limit: int = 5, filter: FilterLike = None
    ) -> list[str]:
        """Return words of the bucket that complete or correct `word`.

        Args:
            word: a word, or the beginning of one. Words may come before it: then suggestions that most objects hold
                with these words come first, and those that no object does are left out, unless that leaves none.
            limit: the most words.
            filter: only words of objects whose tags and values meet these conditions, most such objects first.

        Raises:
            InvalidArgument: like `query`; `word` holds no word, or several with search.suggest_order = "alphabetical".
        """
        first, buckets = one_or_several(bucket)
        if filter is not None:
            return self._suggest_passing(collection, first, word, limit, buckets, condition_of(filter))
        if type(limit) is not int or not 0 <= limit <= NUMBER_MAX:  # before True finds the answer for 1
            limit = number_of("limit", limit)
        question = (collection, first, word, limit, buckets)
        stamp = self._engine.store.readable_stamp()
        kept = self._kept.get(question)
        if kept is not None and kept[0] == stamp:
            return kept[2].copy()
        answer, moment = self._suggest(*question, kept)
        if stamp is not None and stamp == self._engine.store.readable_stamp():
            self._kept.put(question, (stamp, moment, answer))
        return answer.copy()

    @with_options("SIMILAR")
    def similar(self, collection: str, bucket: str, object: ObjectName, **options: Unpack[SimilarOptions]) -> Hits:
        """Return the other objects that are most similar to a given one, by its rarest words, best first.

        Args:
            options: `limit` and `offset`, as in `query`.

        Raises:
            InvalidArgument: like `query`; compat mode has no similar objects.
        """
        from sonicpy.index.search.similar import similar  # noqa: PLC0415  loaded when it is needed

        if self._engine.is_compat:
            raise InvalidArgument("server.compat is sonic, which has no similar objects; allowed is the default mode")
        oid = self._engine.known_name(collection, bucket, object)
        page, window = checked("SIMILAR", options), self._config.store.kv.retain_word_objects
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return Hits()
            has_forms = self._config.search.stemming != "off"
            return similar(lexicon, oid, page["limit"], page["offset"], window, has_forms=has_forms)

    def words(
        self,
        collection: str,
        bucket: AnyBucket,
        *,
        limit: int = 100,
        offset: int = 0,
        prefix: str = "",
        after: str | None = None,
    ) -> list[str]:
        """Return words of the bucket in byte order.

        Args:
            limit: the most words.
            offset: number of words to skip. A large offset costs time; `after` does not.
            prefix: only words that begin with it, in capital or small letters.
            after: only words after this one, such as the last word of the page before.

        Raises:
            InvalidArgument: like `query`.
        """
        first, buckets = one_or_several(bucket)
        check_names(collection, first)
        limit, offset = number_of("limit", limit), number_of("offset", offset)
        prefix = text_of("prefix", prefix)
        behind = encoded("after", "" if after is None else text_of("after", after))
        with self._reading(collection, first, buckets) as lexicon:
            start = word_prefix(self._lexer(lexicon), prefix)
            found = [] if lexicon is None else lexicon.words(offset, limit, start, behind)
            return [word.decode() for word in found]

    def count(
        self,
        collection: str,
        bucket: AnyBucket | None = None,
        object: ObjectName | None = None,
        *,
        of: Counted | None = None,
    ) -> int:
        """Return the number of buckets in a collection, or of words in a bucket or an object, as COUNT does.

        Args:
            of: "objects" counts the objects of a bucket or a collection instead.

        Raises:
            InvalidArgument: like `push`; an object without its bucket; `of` does not fit the names.
        """
        if of is None and object is not None and type(bucket) is str:
            return self.count_object_words(collection, bucket, object)
        what = counted(bucket, object, of)
        if bucket is None:
            return self.count_buckets(collection) if what == "buckets" else self._count_all_objects(collection)
        if object is not None:
            return self.count_object_words(collection, only_one(bucket), object)
        return self.count_words(collection, bucket) if what == "words" else self.count_objects(collection, bucket)

    def count_buckets(self, collection: str) -> int:
        """Return how many buckets of the collection hold words. Raises like `push`."""
        check_collection(collection)
        with self._engine.read() as view:
            return counting.count_buckets(view, collection, self._engine.live_words)

    def count_words(self, collection: str, bucket: AnyBucket) -> int:
        """Return how many different words the bucket holds, or several together. Raises like `query`."""
        first, buckets = one_or_several(bucket)
        check_names(collection, first)
        if buckets:
            with self._engine.read_several(collection, first, buckets) as united:
                return 0 if united is None else len(united)
        with self._engine.read() as view:
            return counting.count_bucket_words(view, collection, first, self._engine.live_words)

    def count_objects(self, collection: str, bucket: AnyBucket) -> int:
        """Return how many objects the bucket holds, or several together. Raises like `query`."""
        first, buckets = one_or_several(bucket)
        check_names(collection, first)
        if buckets:
            with self._engine.read_several(collection, first, buckets) as united:
                return 0 if united is None else united.objects
        with self._engine.read() as view:
            return counting.count_objects(view, collection, first)

    def count_object_words(self, collection: str, bucket: str, object: ObjectName) -> int:
        """Return how many different words the object holds. Raises like `push`."""
        oid = self._engine.known_name(collection, bucket, object)
        with self._engine.read() as view:
            return counting.count_object_words(view, collection, bucket, oid)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _with_vector(self, search: Search) -> Search:
        """Return a search with the vector that the embedder makes of its text, unless it has one."""
        embed = self._embed
        if embed is None or search.vector is not None or not search.text or not search.is_by_score:
            return search
        if self._config.search.ranking != "bm25":
            return search
        return search._replace(vector=embedded_question(embed, search.text))

    def _count_all_objects(self, collection: str) -> int:
        check_collection(collection)
        with self._engine.read() as view:
            return sum(state.objects for state in view.buckets(collection))

    def _note_unanswered(self, search: Search) -> None:
        """Note a search that found nothing on its first page."""
        if self.questions is None or search.offset or search.after is not None or not search.limit:
            return
        from sonicpy.index.report.unanswered import without_addresses  # noqa: PLC0415  loaded when it is needed

        text = without_addresses(wanted_text(search.text, search.syntax))
        with self._reading(search.collection, search.bucket, search.buckets) as lexicon:
            if lexicon is None:
                return
            terms = self._lexer(lexicon).lex_plain(text)
            words = [word for word, flags in zip(terms.words, terms.flags, strict=True) if not flags & PART]
            unknown = [word for word, row in zip(words, lexicon.rows(words), strict=True) if row is None]
        bucket = "" if search.buckets else search.bucket  # of several: shown with the whole collection
        self.questions.note(search.collection, bucket, map(bytes.decode, words), map(bytes.decode, unknown))

    def _reading(
        self, collection: str, bucket: str, buckets: tuple[str, ...]
    ) -> AbstractContextManager[Lexicon | UnitedLexicon | None]:
        """Return a context manager for one read of the words of a bucket, or of several."""
        if buckets:
            return self._engine.read_several(collection, bucket, buckets)
        return self._engine.read_words(collection, bucket)

    def _terms_in(self, lexicon: Lexicon | UnitedLexicon | None, search: Search) -> "tuple[Terms, Matching | None]":
        """Return the terms of a search in a bucket, or in several, and their Matching; see `_query_terms`."""
        if search.filter is not None and asks_newest(search):
            return NO_TERMS, None
        lexer = self._engine.lexer
        if lexicon is not None and lexicon.reader.rules != lexer.rules:
            lexer = self._lexer(lexicon)
        return self._query_terms(search, lexer, _fields_of(lexicon, search) if search.syntax == "web" else ())

    def _suggest(
        self, collection: str, bucket: str, word: str, limit: int, buckets: tuple[str, ...], kept: Kept | None
    ) -> tuple[list[str], Moment]:
        """Return at most `limit` suggestions, those of `kept` if the buckets have not changed, and the moment of the
        buckets."""
        if not are_names(collection, bucket):
            check_names(collection, bucket)
        if type(word) is not str:
            word = text_of("word", word)
        with self._reading(collection, bucket, buckets) as lexicon:
            typed = self._typed(word, self._lexer(lexicon))
            if lexicon is None:
                return [], None
            moment = lexicon.moment
            if kept is not None and kept[1] == moment:
                return kept[2], moment
            if typed.before:
                from sonicpy.index.search.fitting import counted_in, suggest_fitting  # noqa: PLC0415  loaded when it is needed

                window = self._config.store.kv.retain_word_objects
                found = counted_in(parts_of(lexicon), suggest_fitting(lexicon, typed, limit), window)
            elif self._config.search.suggest_order == "likely":
                found = suggest_likely(lexicon, typed.word, limit)
            else:
                found = suggest_alphabetical(lexicon, typed.word, limit, typed.length)
            if not found and typed.joined:
                return list(map(bytes.decode, suggest_likely(lexicon, typed.whole, limit))), moment
        return typed.shown(found), moment

    def _suggest_passing(
        self, collection: str, bucket: str, word: str, limit: int, buckets: tuple[str, ...], condition: "Condition"
    ) -> list[str]:
        """Return at most `limit` suggestions that occur in objects which meet a condition."""
        from sonicpy.index.search.refine import check_ranking  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.search.suggest_passing import SUGGESTIONS_EXAMINED, passing_together, passing_words  # noqa: PLC0415  loaded when it is needed

        check_names(collection, bucket)
        check_ranking(self._config)
        limit = number_of("limit", limit)
        with self._reading(collection, bucket, buckets) as lexicon:
            typed = self._typed(word, self._lexer(lexicon))
            if lexicon is None:
                return []
            readers = [part.reader for part in parts_of(lexicon)]
            if typed.before and (found := passing_together(lexicon, readers, typed, limit, condition)):
                return typed.shown(found)
            term = typed.word
            found = suggest_likely(lexicon, term, SUGGESTIONS_EXAMINED)
            passing = passing_words(readers, term, found, condition)[:limit]
            if not passing and (term := typed.whole):
                found = suggest_likely(lexicon, term, SUGGESTIONS_EXAMINED)
                return list(map(bytes.decode, passing_words(readers, term, found, condition)[:limit]))
            return typed.shown(passing)

    def _lexer(self, lexicon: Lexicon | UnitedLexicon | None) -> Lexer:
        """Return the lexer of the rules of a bucket; of the newest ones if there is no such bucket."""
        lexer = self._engine.lexer
        if lexicon is None or (rules := lexicon.reader.rules) == lexer.rules:
            return lexer
        return lexer.under(rules)


def _fields_of(lexicon: Lexicon | UnitedLexicon | None, search: Search) -> frozenset[str]:
    """Return the names of the named texts in buckets; none if the syntax of a search cannot name a text."""
    if lexicon is None or search.syntax != "web":
        return frozenset()
    parts = lexicon.parts if isinstance(lexicon, UnitedLexicon) else [lexicon]
    return frozenset(name.decode() for part in parts for name in unpack_names(part.reader.fact(TEXT_NAMES)))
