"""Irregular forms of English nouns, verbs and adjectives, which no stemmer finds. In scores they count less than
regular forms.

The tables leave out forms that are mostly other words (left, saw, rose, bit), and the verbs among stop words.
"""

from collections.abc import Callable, Iterator
from functools import cache

FindForms = Callable[[str], set[str] | frozenset[str]]
"""Returns the forms of a word that a stemmer misses."""

_GROUPS = (
    "foot feet|tooth teeth|goose geese|mouse mice|louse lice|ox oxen|penny pennies pence|die dice|"
    "leaf leaves|wolf wolves|knife knives|life lives|half halves|shelf shelves|loaf loaves|thief thieves|calf calves|"
    "elf elves|scarf scarves|hoof hooves|wharf wharves|self selves|sheaf sheaves|dwarf dwarves|"
    "index indexes indices|matrix matrices|vertex vertices|appendix appendices|vortex vortices|axis axes|crisis crises|"
    "thesis theses|hypothesis hypotheses|diagnosis diagnoses|oasis oases|basis bases|ellipsis ellipses|"
    "synthesis syntheses|parenthesis parentheses|emphasis emphases|synopsis synopses|metastasis metastases|"
    "nemesis nemeses|phenomenon phenomena|criterion criteria|automaton automata|memorandum memoranda|addendum addenda|"
    "symposium symposia|syllabus syllabi|octopus octopi|codex codices|cortex cortices|helix helices|apex apices|"
    "bureau bureaux|plateau plateaux|tableau tableaux|schema schemata|stigma stigmata|passerby passersby|"
    "bacterium bacteria|curriculum curricula|stratum strata|erratum errata|stimulus stimuli|fungus fungi|cactus cacti|"
    "nucleus nuclei|radius radii|alumnus alumni|focus foci|larva larvae|formula formulae|antenna antennae|"
    "vertebra vertebrae|alga algae|genus genera|corpus corpora|dying die|lying lie|tying tie|person people persons|"
    "bus buses|gas gases|quiz quizzes|plus pluses|"
    "good better best|bad worse worst|big bigger biggest|fast faster fastest|slow slower slowest|high higher highest|"
    "low lower lowest|small smaller smallest|large larger largest|short shorter shortest|old older oldest elder eldest|"
    "young younger youngest|new newer newest|cheap cheaper cheapest|strong stronger strongest|weak weaker weakest|"
    "dark darker darkest|hard harder hardest|soft softer softest|thick thicker thickest|thin thinner thinnest|"
    "wide wider widest|deep deeper deepest|warm warmer warmest|cold colder coldest|hot hotter hottest|"
    "clear clearer clearest|bright brighter brightest|quick quicker quickest|rich richer richest|poor poorer poorest|"
    "great greater greatest|tall taller tallest|safe safer safest|simple simpler simplest|nice nicer nicest|"
    "smart smarter smartest|loud louder loudest|quiet quieter quietest|sweet sweeter sweetest|tight tighter tightest|"
    "wise wiser wisest|wet wetter wettest|fat fatter fattest|sad sadder saddest|long longest|light lightest|"
    "im i'm|ive i've|hes he's|shes she's|its it's|whos who's|whats what's|thats that's|theres there's|youre you're|"
    "theyre they're|youve you've|weve we've|theyve they've|youd you'd|theyd they'd|youll you'll|theyll they'll|"
    "itll it'll|dont don't|doesnt doesn't|didnt didn't|isnt isn't|arent aren't|wasnt wasn't|werent weren't|aint ain't|"
    "hasnt hasn't|havent haven't|hadnt hadn't|cant can't|couldnt couldn't|wont won't|wouldnt wouldn't|"
    "shouldnt shouldn't|mustnt mustn't|yall y'all|cmon c'mon|oclock o'clock|maam ma'am"
)
"""Groups of forms: nouns, adjectives, and short forms, which are often written without their apostrophe."""
_VERBS = (
    "arise arose arisen|awake awoke awoken|beat beaten|become became|begin+ began begun|bend bent|bite bitten|"
    "bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|"
    "catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|dig+ dug|draw drew drawn|"
    "dream dreamt|drink drank drunk|drive drove driven|dwell dwelt|eat ate eaten|fall fell fallen|feed fed|feel felt|"
    "fight fought|find found|flee fled|fling flung|fly flew flown|forbid+ forbade forbidden|"
    "foresee foresaw foreseen|forget+ forgot forgotten|forgive forgave forgiven|freeze froze frozen|get+ got gotten|"
    "give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|"
    "kneel knelt|know knew known|lead led|lean leant|leap leapt|learn learnt|lend lent|light lit|lose lost|make made|"
    "mean meant|meet met|mistake mistook mistaken|misunderstand misunderstood|outgrow outgrew outgrown|"
    "overcome overcame|overhear overheard|overtake overtook overtaken|overthrow overthrew overthrown|pay paid|"
    "prove proven|rebuild rebuilt|rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise risen|run+ ran|"
    "say said|see seen|seek sought|sell sold|resell resold|send sent|sew sewn|shake shook shaken|shine shone|"
    "shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit+ sat|sleep slept|slide slid|"
    "sling slung|sow sown|speak spoke spoken|speed sped|spell spelt|spend spent|spill spilt|spin+ spun|"
    "spit+ spat|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|"
    "stink stank stunk|strike struck stricken|string strung|strive strove striven|swear swore sworn|sweep swept|"
    "swell swollen|swim+ swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|"
    "throw threw thrown|tread trod trodden|undergo underwent undergone|understand understood|"
    "undertake undertook undertaken|uphold upheld|wake woke woken|wear wore worn|weave wove woven|weep wept|win+ won|"
    "withdraw withdrew withdrawn|withhold withheld|withstand withstood|write wrote written"
)
"""Verbs, each with its irregular forms. A sign + marks verbs that double their last letter (running)."""
_ENDINGS = {
    "man": "men", "men": "man", "child": "children", "children": "child", "wife": "wives", "wives": "wife",
    "ysis": "yses", "yses": "ysis", "osis": "oses", "oses": "osis", "thesis": "theses", "theses": "thesis",
}  # fmt: skip
"""Irregular endings of words and compounds (firemen, analyses): ending -> the ending of the other form."""
_COMPOUND_LETTERS = 2
"""The least number of letters before an ending of `_ENDINGS` in a compound."""
_COMPARED, _PLAIN = ("ier", "iest"), "y"
"""The endings of compared adjectives (happier, happiest), and that of the adjective."""
_NOT_COMPARED = frozenset({"barrier", "harrier", "terrier"})
"""Words that end as compared adjectives do, and would lead to names (Barry, Harry, Terry)."""
_ENDS = (*_ENDINGS, *_COMPARED)


def irregular_forms(word: str) -> set[str]:
    """Return the other forms of an English word that its stemmer misses; most words have none. The word is in small
    letters."""
    others = _others().get(word)
    if others is None and not word.endswith(_ENDS):
        return set()
    return {*(others or ()), *_by_ending(word)} - {word}


def _by_ending(word: str) -> Iterator[str]:
    for ending, other in _ENDINGS.items():
        before = word[: -len(ending)]
        if word.endswith(ending) and (not before or len(before) >= _COMPOUND_LETTERS):
            yield before + other
    for ending in _COMPARED:
        if word.endswith(ending) and len(word) > len(ending) + _COMPOUND_LETTERS and word not in _NOT_COMPARED:
            yield word[: -len(ending)] + _PLAIN


@cache
def _others() -> dict[str, tuple[str, ...]]:
    """Return the other forms of each word in the tables."""
    others = {}
    for group in map(str.split, _GROUPS.split("|")):
        others.update({word: tuple(group) for word in group})
    for verb, *irregular in map(str.split, _VERBS.split("|")):
        regular = _regular_forms(verb)
        others.update({word: (*others.get(word, ()), *irregular) for word in regular})
        others.update({word: (*others.get(word, ()), *regular, *irregular) for word in irregular})
    return others


def _regular_forms(verb: str) -> tuple[str, str, str]:
    """Return a verb, its third person and its participle that ends in -ing.

    Args:
        verb: the verb; a sign + at its end doubles its last letter.
    """
    base = verb.rstrip("+")
    third = base[:-1] + "ies" if base.endswith("fly") else base + ("es" if base.endswith(("ch", "o")) else "s")
    stem = base + base[-1] if verb != base else base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    return base, third, stem + "ing"
