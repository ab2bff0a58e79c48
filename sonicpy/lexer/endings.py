"""Light stemmers, by tables of endings, for languages that Snowball has no algorithm for.

The tables hold endings of declension and conjugation as grammars list them. Stems are only compared with stems of the
same language, so a stem need not be a root, only equal for the forms of a word. docs/quality.md has the share of forms
with equal stems, measured on lists of lemmas.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property

HANGUL_FIRST, HANGUL_LAST, HANGUL_FINALS = 0xAC00, 0xD7A3, 28
"""The first and the last syllable of Hangul, and the number of syllables with the same beginning: one ends with the
vowel, 27 end with a consonant."""


class Endings:
    """A light stemmer: removes from a word the longest ending in each table, one table after the other.

    Args:
        tables: strings of endings separated by blanks.
        least: the least number of letters to keep of a word.
        changed: pairs "x>y" separated by blanks: a last letter x that replaces y before some endings (Ukrainian knyha,
            knyzi) becomes y.
        doubled: letters of which only one is kept if a stem ends with two.
    """

    def __init__(self, *tables: str, least: int, changed: str = "", doubled: str = "") -> None:
        self._given = tables
        self._least = least
        self._changed = dict(pair.split(">") for pair in changed.split())
        self._doubled = doubled

    @cached_property
    def _tables(self) -> "list[list[tuple[int, frozenset[str]]]]":
        """Each table as `_by_length` returns it; made for the first word."""
        return [_by_length(unicodedata.normalize("NFC", table).split()) for table in self._given]

    def stem(self, word: str) -> str:
        """Return a word without its endings."""
        for table in self._tables:
            for length, endings in table:
                if len(word) - length >= self._least and word[-length:] in endings:
                    word = word[:-length]
                    break
        if len(word) > self._least and word[-1] == word[-2] and word[-1] in self._doubled:
            word = word[:-1]
        last = word[-1:]
        return word[:-1] + self._changed[last] if last in self._changed and len(word) >= self._least else word

    def stem_words(self, words: Sequence[str]) -> list[str]:
        """Return words without their endings."""
        return list(map(self.stem, words))


class Particles:
    """The light stemmer of Korean: removes from a noun the particles that are written together with it.

    Some particles have two forms, one behind a consonant and one behind a vowel (eun, neun). This distinguishes them
    from syllables of a noun, so they are removed even from a noun of one syllable.
    """

    _BEHIND_CONSONANT = "을 은"
    _BEHIND_VOWEL = "를 는"
    _SURE = (
        "에서 에게 에게서 께서 한테 한테서 으로 으로서 으로써 로서 로써 이랑 하고 까지 부터 마다 조차 마저 밖에 보다"
        " 처럼 같이 대로 만큼 이나 이라도 라도 이든지 든지 이라 이야 들이 들은 들을 들의 들도 들과 들에게 에는 에도"
        " 에서는 에서도 에게는 에게도 으로는 로는 으로도 까지는 까지도 부터는 만이 만은 만을 이다 입니다 이라고 라고"
        " 이란 이며 이고 이면 인데 이었다 였다 하다 합니다 했다 했습니다 하는 하여 해서 하기 하지 하면 되다 됩니다"
        " 되었다 됐다 된다 한다"
    )
    _SHORT = "이 가 의 에 로 와 과 랑 도 만 뿐 께 나 라 야 들"
    _SHORT_BEHIND = {"이": True, "과": True, "가": False, "와": False, "랑": False, "나": False, "라": False}
    """Particle of one syllable -> whether a consonant comes before it. Before other particles, either may come."""

    def __init__(self) -> None:
        self._sure = _by_length(self._SURE.split())
        self._short = frozenset(self._SHORT.split())
        self._consonant = frozenset(self._BEHIND_CONSONANT.split())
        self._vowel = frozenset(self._BEHIND_VOWEL.split())

    def stem(self, word: str) -> str:
        """Return a noun without its particles, of which there may be several."""
        shorter = self._without_last(word)
        while shorter != word:
            word, shorter = shorter, self._without_last(shorter)
        return word

    def _without_last(self, word: str) -> str:
        for length, particles in self._sure:
            if len(word) > length and word[-length:] in particles:
                return word[:-length]
        if len(word) < 2 or not HANGUL_FIRST <= ord(word[-2]) <= HANGUL_LAST:
            return word
        closed = (ord(word[-2]) - HANGUL_FIRST) % HANGUL_FINALS > 0
        last = word[-1]
        if last in (self._consonant if closed else self._vowel):
            return word[:-1]
        fits = self._SHORT_BEHIND.get(last, closed) == closed
        return word[:-1] if len(word) > 2 and last in self._short and fits else word

    def stem_words(self, words: Sequence[str]) -> list[str]:
        """Return nouns without their particles."""
        return list(map(self.stem, words))


def _by_length(endings: Sequence[str]) -> list[tuple[int, frozenset[str]]]:
    """Return (length, endings of this length) for each length of endings, the longest first."""
    lengths = sorted({len(ending) for ending in endings}, reverse=True)
    return [(length, frozenset(ending for ending in endings if len(ending) == length)) for length in lengths]


_SOUTH_SLAVIC_CHANGED = "ц>к з>г"

ENDINGS: Mapping[str, Endings | Particles] = {
    "belarusian": Endings(
        "ся ца сь",
        "а я у ю і ы е э о ь й ай яй ой ей ом ем ам ям ах ях амі ямі аў яў оў ёў ёй ою ею аю яю аго яго ага яга ому"
        " аму яму ым ім ых іх ымі імі ую юю ае яе ая яя ыя ія ыі ць ці ў ла лі ло л аць яць іць ыць уць еш ем еце юць"
        " іш іце іў ыў ала яла іла ыла алі ялі ілі ылі аваць яваць уе уюць уем аваў авала авалі ны ная нае ныя нага"
        " наму най ным ных нымі не ні нне ння нню ннем нні анне ання енне ення скі ская скае скія скага скай скіх"
        " скім асць асці асцю",
        least=3, changed="ц>к ч>к ж>г з>г с>х ш>х", doubled="н",
    ),
    "bengali": Endings(
        "ই ও",
        "র ের রা েরা রে কে তে েতে ে য়ে য়ের য় টা টি টার টির টাকে টিকে টায় টিতে খানা খানি গুলো গুলি গুলা গুলোর গুলির"
        " গুলোকে গুলিকে গুলোতে গুলিতে দের েদের দেরকে েদেরকে জন জনের",
        least=2,
    ),
    "bulgarian": Endings(
        "ът ят та то те а я",
        "ове еве ища и е ия ии ията иите ието ове а я о у ъ ят ам яш м ме т ш х хме хте ха ше ене ани еше аше ах ях"
        " яха аха охме ал ел ял ил ала ела яла ила ало ело яло ило али ели яли или ан ен ян ана ена яна ано ено яно"
        " ени яни ски ска ско ският ската ското ските ост остта ости ния ние ният ните ната ното на но ни",
        least=3, changed=_SOUTH_SLAVIC_CHANGED,
    ),
    "hebrew": Endings(
        "ים ות יות ית ה ת י ו ך נו הם הן כם כן יו יה יהם יהן יכם יכן ייך ינו תי תו תה תם תנו",
        least=3, changed="ך>כ ם>מ ן>נ ף>פ ץ>צ",
    ),
    "icelandic": Endings(
        "inn in ið num nni nar na nir nna ina inum inni ins anum ann ans unni una urinn urnar arnir ana anna unum"
        " arinnar innar",
        "ur ir ar r i a u um s",
        least=3,
    ),
    "korean": Particles(),
    "latvian": Endings(
        "s š a e u i o is us as es os ais ām ai ei ī ā ē ū am em im um ajam ajai ajā ajos ajās ajiem ajām ēs ās īs"
        " iem ēm īm ums ie t ju ji jis ja jam jat iet īt īs ēt āt ot uot ēja ējām īja ījām āja ājām oja šu ši sim"
        " siet šot usi uši ušas oša ošs ošu ošas amās amies ts ta tu ti tas to tā tam tai tiem tām tie ināt inā ināja"
        " šana šanas šanu šanā īgs īga īgi īgu īgas īgo īgā isks iska isku iski iskā iskais iskās āks āka āki āku ākā"
        " ākais nieks nieki nieku niekam umu uma umi umam umā umiem ība ības ību ībā ībām",
        least=3, changed="š>s ž>z ņ>n ļ>l ķ>k ģ>g",
    ),
    "macedonian": Endings(
        "от та то те ов ва во ве он на но не",
        "а и е о у ови еви ишта ја јата јот ам аш аме ате ат еме ете ев еше евме евте еа ав аше авме авте аа ил ила"
        " ило или ел ела ело ели ал ала ало али ан ана ано ани ен ена ено ени ње ски ска ско ост ости ување увања ува"
        " уваат ување увал уваше ни на но",
        least=3, changed=_SOUTH_SLAVIC_CHANGED,
    ),
    "slovak": Endings(
        "a á e é i í y ý o ó u ú ia iu ie ej ou om em ám am iam ách ach iach och ami iami mi ov ovi ové ovia ých ích"
        " ým ím ými ími ého ieho ému iemu eho emu ať iť ieť úť uť at ť l la lo li al ala alo ali il ila ilo ili el"
        " ela elo eli ol ul ula ulo uli áš áme áte ajú íš íme íte iem ieš ieme iete ejú eš eme ete uje ujem uješ"
        " ujeme ujete ujú oval ovala ovalo ovali ovať ovaný ovaná ovanie ovania aný aná ané aní anej aných aným anou"
        " anie ania aniu ený ená ené ení enej ených eným enie enia nutý ný ná né ní nej ného nému ným nú nou ných"
        " nými ský ská ské skí skej ského skému skú skou ských ským ost osť osti osťou ejší ejšia ejšie ejších ší",
        least=3, changed="c>k z>h",
    ),
    "slovene": Endings(
        "a e i o u om em ema oma ama am ah ih im ega emu imi ima jo ja je ju jem ov ev mi ami ova ovi ove ovo ni na"
        " no ne nega nemu nim nih nimi nem nje nja nju njem njih ti l la lo li le al ala alo ali ale il ila ilo ili"
        " ile el ela elo eli aš amo ate ajo iš imo ite ijo eš emo ete ejo uje ujem uješ ujejo ujemo oval ovala ovali"
        " ovati ati iti eti an ana ano ani ane en ena eno eni ene anja anje enje enja ski ska sko ske skega skem skih"
        " skim ost osti ostjo ejši ejša ejše ši",
        least=3, changed="c>k",
    ),
    "ukrainian": Endings(
        "ся сь",
        "а я у ю і ї и е є о ь й ий ій ом ем єм ою ею єю ові еві єві ам ям ах ях ами ями ів їв ей ого ому им ім ої их"
        " ими ього ьому ьої ьою їм їх їми еє ая яя ії ти ть в ла ло ли еш єш емо ємо ете єте уть ють иш їш ить їть"
        " имо їмо ите їте ать ять ав яв ив ала яла ила їла ало яло ило їло али яли или їли ати яти ити їти ути увати"
        " ювати увала увало ували увана ував ював ює юю ують юють ує ую уєш уємо уєте уючи аючи ючи учи ачи ячи вши"
        " ший ши аю аєш ає аємо аєте ають яю яєш яє яємо яєте яють ію ієш іє іємо ієте іють іти іла іло іли іть ість"
        " ості істю ний на не ні ного ному ної ною ним нім ній них ними ну но ння нню нням нні нь анням анні ання"
        " анню аний ана ане ані аного аному аної аною аних аними ану ений ена ене ені еного ених ення енням енні енню"
        " ський ська ське ські ського ському ської ською ських ськими ську іший іша іше іші ішого ішому ішої ішою"
        " іших ішими ішу",
        least=3, changed="ц>к ч>к ж>г з>г ш>х с>х", doubled="нлт",
    ),
    "urdu": Endings("وں یں یاں یوں ات ے ی ا ہ و ؤں ئیں ئے ئی یا تا تی تے نا نے نی", least=2),
}  # fmt: skip
"""English name of a language, in small letters -> its stemmer."""
