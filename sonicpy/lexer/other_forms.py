"""Forms that the stemmers of some languages miss: irregular plurals, vowels and consonants that change, strong verbs.

A table has two kinds of rules: groups of words that are forms of one word, and pairs of endings, each of which another
form of a word may have in its place. Other forms count only if a bucket holds them, so endings may lead to words that
no language has.
"""

from collections.abc import Mapping
from functools import cached_property

from sonicpy.lexer.irregular import FindForms, irregular_forms

_BEFORE_MIN = 2
"""The least number of letters before an ending."""
_NOTHING: frozenset[str] = frozenset()


class OtherForms:
    """The other forms of the words of a language.

    Args:
        groups: groups of forms, separated by "|", the forms by blanks.
        endings: pairs of endings "x=y", separated by blanks.
        participle: the letters before and behind the stem of a participle, and the ending of its verb, such as
            ("ge", "t", "en"); None: participles have no such prefix.
        apart: words that have such an ending by chance, separated by blanks: only a group leads to them or from them.
        definite: pairs of endings "x=y" of the forms in groups and of their definite forms, which belong to the group,
            too. The first pair with the ending of a form counts.
    """

    def __init__(
        self,
        groups: str = "",
        endings: str = "",
        participle: tuple[str, str, str] | None = None,
        apart: str = "",
        definite: str = "",
    ) -> None:
        self._groups_given, self._endings_given = groups, endings
        self._definite = [pair.split("=") for pair in definite.split()]
        self._participle = participle
        self._apart = frozenset(apart.split())

    @cached_property
    def _groups(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for group in map(str.split, self._groups_given.split("|")):
            forms = [*group, *filter(None, map(self._definite_of, group))]
            for word in forms:
                found.setdefault(word, set()).update(forms)
        return found

    def _definite_of(self, word: str) -> str:
        """Return the definite form of a form in a group; "": it has none, or its stemmer knows it."""
        ways = (word.removesuffix(ending) + other for ending, other in self._definite if word.endswith(ending))
        return next(ways, "")

    @cached_property
    def _endings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pair in self._endings_given.split():
            one, other = pair.split("=")
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        return found

    def of(self, word: str) -> "set[str] | frozenset[str]":
        """Return the other forms of a word, in small letters, which may be no words."""
        group = self._groups.get(word, _NOTHING)
        if not group and not word.endswith(self._ends):
            return _NOTHING
        found = set() if word in self._apart else self._by_rules(word) - self._apart
        found |= group
        found.discard(word)
        return found

    def _by_rules(self, word: str) -> set[str]:
        found = set[str]()
        for size in self._sizes:
            before = word[:-size]
            if len(before) >= _BEFORE_MIN and word[-size:] in self._endings:
                found.update(before + other for other in self._endings[word[-size:]])
        if self._participle is not None:
            found |= self._of_participle(word, *self._participle)
        return found

    @cached_property
    def _sizes(self) -> list[int]:
        return sorted({len(ending) for ending in self._endings})

    @cached_property
    def _ends(self) -> tuple[str, ...]:
        """The letters in which words end that may have other forms by a rule."""
        return (*self._endings, *(() if self._participle is None else self._participle[1:]))

    def _of_participle(self, word: str, before: str, behind: str, ending: str) -> set[str]:
        stem = word[len(before) : len(word) - len(behind)]
        if word.startswith(before) and word.endswith(behind) and len(stem) > _BEFORE_MIN:
            return {stem + ending, stem.removesuffix("e") + ending}  # gekauft, gearbeitet
        stem = word[: -len(ending)]
        if not word.endswith(ending) or len(stem) <= _BEFORE_MIN:
            return set()
        return {before + stem + behind, f"{before}{stem}e{behind}"}


_SCANDINAVIAN = "far fedre|mor mødre|bror brødre|datter døtre"

_FORMS = {
    "spanish": OtherForms(
        "joven jóvenes|examen exámenes|imagen imágenes|origen orígenes|orden órdenes|volumen volúmenes|"
        "margen márgenes|crimen crímenes|virgen vírgenes|resumen resúmenes|régimen regímenes|carácter caracteres|"
        "buen bueno buena buenos buenas|gran grande grandes|mal malo mala malos malas|primer primero primera|"
        "tercer tercero tercera|tener tiene tienen tuvo tuvieron|hacer hace hizo hicieron hecho|decir dice dijo dijeron"
        " dicho|poner pone puso pusieron puesto|ver visto|escribir escrito|abrir abierto|volver vuelve vuelto|"
        "morir muere murió muerto|poder puede pueden pudo|querer quiere quieren quiso|venir viene vinieron|"
        "pensar piensa piensan|jugar juega juegan|dormir duerme duermen durmió|pedir pide piden pidió|"
        "empezar empieza empiezan|perder pierde pierden|encontrar encuentra encuentran|contar cuentan|"
        "comenzar comienza comienzan|entender entiende entienden|cerrar cierra cierran|mostrar muestra muestran|"
        "recordar recuerda recuerdan|seguir sigue siguen siguió|sentir siente sienten sintió|servir sirve sirven"
        " sirvió|traer trajo trajeron|saber supo supieron|romper roto|caer cae cayó|leer leyó|oír oye oyó",
        "z=ces",
    ),
    "portuguese": OtherForms(
        "pão pães|cão cães|alemão alemães|capitão capitães|mão mãos|irmão irmãos|cidadão cidadãos|bom boa bons boas|"
        "mês meses|mau má maus más|fazer faz fez feito|dizer diz disse dito|ver visto|vir vem veio|pôr põe pôs posto|"
        "trazer traz trouxe|escrever escrito|abrir aberto|ter tem teve|poder pode pôde|querer quer quis",
        "al=ais el=éis ol=óis ul=uis il=is il=eis m=ns ão=ões ês=eses",
    ),
    "italian": OtherForms(
        "uomo uomini|uovo uova|bue buoi|andare vado va vanno|fare fa fatto fanno|dire dice detto|"
        "scrivere scritto scrisse|leggere letto lesse|vedere visto vide|prendere preso prese|mettere messo mise|"
        "chiudere chiuso|aprire aperto|perdere perso|vincere vinto|rompere rotto|correre corso|decidere deciso|"
        "venire viene venuto venne|tenere tiene tenne|morire muore morto|nascere nato|chiedere chiesto|"
        "rispondere risposto|scegliere scelto",
        "go=ghi ga=ghe co=chi ca=che ave=avi",
    ),
    "french": OtherForms(
        "travail travaux|vitrail vitraux|corail coraux|émail émaux|bail baux|œil yeux oeil|ciel cieux|"
        "beau bel belle beaux belles|nouveau nouvel nouvelle nouveaux nouvelles|vieux vieil vieille vieilles|"
        "gros grosse grosses|blanc blanche blancs blanches|franc franche|sec sèche secs sèches|"
        "long longue longs longues|doux douce douces|roux rousse|faux fausse fausses|frais fraîche|fou folle fous|"
        "mou molle|public publique publics publiques|grec grecque|turc turque|bref brève|neuf neuve neufs neuves|"
        "faire fait font|écrire écrit|prendre pris|mettre mis|voir vu|lire lu|boire bu|vendre vendu|perdre perdu|"
        "recevoir reçu|ouvrir ouvert|offrir offert|mourir mort|naître né|venir vient venu|tenir tient tenu|"
        "pouvoir peut|vouloir veut|savoir sait su|devoir doit dû|dire dit|rendre rendu|répondre répondu|croire cru|"
        "courir couru|vivre vécu|connaître connu|conduire conduit|construire construit",
        "if=ive ifs=ives",
    ),
    "german": OtherForms(
        "gehen geht ging gingen gegangen|essen isst aß aßen gegessen|geben gibt gab gaben gegeben|"
        "nehmen nimmt nahm nahmen genommen|sehen sieht sah sahen gesehen|lesen liest las lasen gelesen|"
        "schreiben schreibt schrieb schrieben geschrieben|sprechen spricht sprach sprachen gesprochen|"
        "finden findet fand fanden gefunden|fahren fährt fuhr fuhren gefahren|fallen fällt fiel fielen gefallen|"
        "halten hält hielt hielten gehalten|helfen hilft half halfen geholfen|kommen kommt kam kamen gekommen|"
        "laufen läuft lief liefen gelaufen|schlafen schläft schlief geschlafen|schlagen schlägt schlug geschlagen|"
        "schließen schließt schloss geschlossen|schneiden schnitt geschnitten|schwimmen schwamm geschwommen|"
        "singen sang gesungen|sinken sank gesunken|sitzen saß gesessen|stehen steht stand standen gestanden|"
        "steigen stieg stiegen gestiegen|sterben stirbt starb starben gestorben|tragen trägt trug trugen getragen|"
        "treffen trifft traf trafen getroffen|trinken trank getrunken|tun tat getan|verlieren verlor verloren|"
        "vergessen vergisst vergaß|werfen wirft warf geworfen|wissen weiß wusste gewusst|ziehen zog zogen gezogen|"
        "bleiben blieb blieben geblieben|brechen bricht brach gebrochen|bringen brachte gebracht|"
        "denken dachte gedacht|kennen kannte gekannt|nennen nannte genannt|rennen rannte gerannt|"
        "beginnen begann begonnen|bieten bot geboten|binden band gebunden|bitten bat gebeten|fliegen flog geflogen|"
        "fangen fängt fing gefangen|gewinnen gewann gewonnen|greifen griff gegriffen|heben hob gehoben|"
        "leihen lieh geliehen|lügen log gelogen|rufen rief gerufen|scheinen schien|springen sprang gesprungen|"
        "stehlen stiehlt stahl gestohlen|waschen wäscht wusch gewaschen|wachsen wächst wuchs gewachsen|"
        "lexikon lexika|praktikum praktika|visum visa|konto konten|risiko risiken|album alben",
        "um=en a=en o=os i=is te=en",
        ("ge", "t", "en"),
        "warum irrtum reichtum rundum beta komma oma opa rosa warte seite beste meiste leichte rechte sachte zweite"
        " vierte breite leiste laute fette zarte torte kannte brachte nackte beamte hütte watte ratte haste weste"
        " größte gesamt gewalt gewicht gerecht gesteht gedenkt gewährt gehorcht",
    ),
    "dutch": OtherForms(
        "stad steden|schip schepen|lid leden|kind kinderen|ei eieren|blad bladeren|dag dagen|weg wegen|glas glazen|"
        "koe koeien|been beenderen|lied liederen|rund runderen|kalf kalveren|lam lammeren|"
        "kopen koopt kocht gekocht|brengen bracht gebracht|denken dacht gedacht|zoeken zocht gezocht|"
        "schrijven schrijft schreef geschreven|lezen leest las gelezen|eten eet at gegeten|drinken dronk gedronken|"
        "gaan gaat ging gegaan|staan staat stond gestaan|komen komt kwam gekomen|nemen neemt nam genomen|"
        "geven geeft gaf gegeven|vinden vindt vond gevonden|spreken spreekt sprak gesproken|"
        "krijgen krijgt kreeg gekregen|blijven bleef gebleven|rijden reed gereden|lopen loopt liep gelopen|"
        "slapen sliep geslapen|vallen viel gevallen|vliegen vloog gevlogen|winnen won gewonnen|verliezen verloor"
        " verloren|beginnen begon begonnen|zien ziet zag gezien|doen doet deed gedaan",
        "um=a",
    ),
    "swedish": OtherForms(
        "bok böcker|man män|mus möss|fot fötter|bror bröder|far fäder|mor mödrar|dotter döttrar|gås gäss|lus löss|"
        "öga ögon|öra öron|son söner|bonde bönder|rot rötter|ledamot ledamöter|skriva skrev skrivit|"
        "gå gick gått|köpa köpte köpt|sälja sålde sålt|få fick fått|ge gav gett|ta tog tagit|se såg sett|"
        "komma kom kommit|äta åt ätit|dricka drack druckit|sova sov sovit|springa sprang sprungit|bli blev blivit|"
        "hålla höll hållit|finna fann funnit|flyga flög flugit|bryta bröt brutit|vinna vann vunnit",
        definite="er=erna ar=arna män=männen öss=össen gäss=gässen ögon=ögonen öron=öronen",
    ),
    "danish": OtherForms(
        "mand mænd|bog bøger|fod fødder|hånd hænder|barn børn|nat nætter|tand tænder|bror brødre|mor mødre|far fædre|"
        "øje øjne|datter døtre|and ænder|gås gæs|rod rødder|by byer|ko køer|bonde bønder|kraft kræfter|stang stænger|"
        "skrive skrev skrevet|gå gik gået|købe købte købt|sælge solgte solgt|få fik fået|give gav givet|"
        "tage tog taget|se set|komme kom kommet|spise spiste|drikke drak drukket|sove sov sovet|blive blev blevet|"
        "holde holdt|finde fandt fundet|flyve fløj fløjet|vinde vandt vundet",
        definite="er=erne mænd=mændene børn=børnene ødre=ødrene fædre=fædrene øtre=øtrene øjne=øjnene gæs=gæssene",
    ),
    "norwegian": OtherForms(
        f"{_SCANDINAVIAN}|mann menn|bok bøker|fot føtter|hånd hender|natt netter|tann tenner|øye øyne|tre trær|"
        "kraft krefter|bonde bønder|rot røtter|ku kyr|gås gjess|stang stenger|and ender|kne knær|barn barna|"
        "skrive skrev skrevet|gå gikk gått|kjøpe kjøpte kjøpt|selge solgte solgt|få fikk fått|gi ga gitt|"
        "ta tok tatt|se sett|komme kom kommet|spise spiste spist|drikke drakk drukket|sove sov sovet|"
        "bli ble blitt|holde holdt|finne fant funnet|fly fløy fløyet|vinne vant vunnet",
        definite="er=ene ær=ærne menn=mennene ødre=ødrene edre=edrene øtre=øtrene øyne=øynene kyr=kyrne gjess=gjessene",
    ),
    "icelandic": OtherForms(
        "bók bækur|maður menn mann manni manns|barn börn|fjall fjöll|land lönd|stóll stólar|köttur kettir|hönd hendur|"
        "fótur fætur|tönn tennur|bróðir bræður|móðir mæður|dóttir dætur|vatn vötn|nafn nöfn|saga sögur sögu|"
        "gata götur götu|mús mýs|nótt nætur|bær bæir|ár árum|dagur degi dögum|hundur hundar|bíll bílar",
    ),
    "russian": OtherForms(
        "день дни дня дней дню днём днями|друг друзья друзей друзьями|сын сыновья сыновей|ребёнок ребенок дети детей"
        " детям|человек люди людей людям людьми|мать матери матерью|дочь дочери дочерей|время времени времена времён|"
        "имя имени имена имён|отец отца отцу отцы|сон сна сны|пёс пес пса псы|любовь любви|церковь церкви церквей|"
        "огонь огня огни|лоб лба|рот рта|лёд лед льда|угол угла углы|ветер ветра ветры|пень пня|камень камня"
        " камни камней|корень корня корни|окно окон|письмо писем|сестра сестёр сестер|деньги денег|"
        "хороший лучше лучший|плохой хуже|идти шёл шел шла шли|ехать едет|год лет|брат братья братьев",
        "ок=ка ок=ку ок=ком ок=ке ок=ки ок=ков ец=ца ец=цу ец=цом ец=це ец=цы ец=цов"
        " лец=льца лец=льцы лец=льцем лец=льцев ка=ек ка=ок ки=ек ки=ок",
        apart="порок урок",
    ),
    "ukrainian": OtherForms(
        "день дні дня днів|стіл стола столи|ніч ночі|кіт кота коти|дитина діти дітей|рік року роки років|"
        "дім дому доми|око очі очей|друг друзі друзів|людина люди людей|кінь коня коні|ніс носа|віз воза|"
        "сіль солі|піч печі|ім'я імені імена|мати матері|пес пса пси|вікно вікон",
        "ок=ка ок=ку ок=ки ець=ця ець=цю ець=ці ка=ок ки=ок",
    ),
    "bulgarian": OtherForms(
        "човек хора|ден дни дена|дете деца|ръка ръце|око очи|ухо уши|крак крака|брат братя|баща бащи", "ец=ци"
    ),
    "polish": OtherForms(
        "pies psa psy psów|dzień dnia dni|ręka ręce rąk|rok lata lat|człowiek ludzie ludzi|ząb zęba zęby|"
        "brat bracia braci|dziecko dzieci|okno okien|oko oczy|ucho uszy|mąż męża mężowie|ksiądz księdza księża|"
        "tydzień tygodnia tygodnie|przyjaciel przyjaciele przyjaciół|imię imienia imiona|wieś wsi|sen snu sny|"
        "ojciec ojca ojcowie|mecz meczu|stół stołu stoły|wóz wozu wozy|lód lodu lody|miasto mieście|święto świąt",
        "ka=ek ka=ce ki=ek ga=dze ta=cie ra=rze ła=le da=dzie sto=ście to=cie iec=ca iec=cy ek=ka ek=ki ek=ku ek=kiem"
        " ek=ków ec=ca ec=ce",
        apart="byle miejsce serce życie",
    ),
    "czech": OtherForms(
        "pes psa psi psy|den dne dny dnů|dům domu domy domů|stůl stolu stoly|člověk lidé lidi lidí|oko oči očí|"
        "ucho uši|přítel přátelé přátel|kůň koně koní|vůz vozu vozy|rok roky let|dítě děti dětí|ruka ruce rukou|"
        "otec otce otcové|sen snu sny|okno oken|kniha knize knih|sestra sester|matka matek",
        "ka=ek ka=ce ky=ek ha=ze ra=ře ec=ce ec=ci ek=ku ek=ky ek=kem",
        apart="více",
    ),
    "slovak": OtherForms(
        "deň dňa dni|človek ľudia ľudí|pes psa psy psi|stôl stola stoly|oko oči|ucho uši|kôň koňa kone|"
        "otec otca otcovia|dieťa deti detí|priateľ priatelia|rok roky",
        "ka=ek ka=iek ok=ku ok=ky ec=ca ec=ci",
        apart="krok",
    ),
    "slovene": OtherForms(
        "dan dneva dnevi dni|človek ljudje ljudi|pes psa psi|otrok otroci|oko oči|oče očeta|mati matere|hči hčere",
        "ec=ca ec=ci ek=ka ek=ki",
    ),
    "serbian": OtherForms(
        "pas psa psi|dan dana dani|otac oca|dete dijete deca djeca|čovek čovjek ljudi|brat braća|oko oči|uho uši|"
        "kći kćeri|vuk vuci vukovi|grad gradovi|stol stolovi",
        "ka=ci ga=zi k=ci g=zi ac=ca ac=ci ac=ce k=kovi",
        apart="baci majk reci",
    ),
    "romanian": OtherForms(
        "om oameni|copil copii copiii|fată fete|băiat băieți|stradă străzi|masă mese|floare flori|cal cai|urs urși|"
        "noapte nopți|seară seri|poartă porți|școală școli|țară țări|mână mâini|frate frați|soră surori|"
        "cuvânt cuvinte|tânăr tineri|viață vieți|piață piețe|mare mari|câine câini|inel inele|măr mere|pat paturi",
    ),
    "catalan": OtherForms(
        "casa cases|mà mans|gos gossos|boca boques|amiga amigues|peix peixos|llengua llengües", "ca=ques ga=gues ça=ces"
    ),
    "hungarian": OtherForms(
        "ló lovak|tó tavak|bokor bokrok|szó szavak|kő kövek|fű füvek|út utak|álom álmok|tükör tükrök|torony tornyok|"
        "farok farkak|terem termek|titok titkok|sarok sarkok|ökör ökrök",
        "a=ák e=ék a=át e=ét",
    ),
    "turkish": OtherForms(
        "burun burnu|şehir şehri şehre|ağız ağzı|isim ismi|oğul oğlu|resim resmi|akıl aklı|renk rengi renge|"
        "kanat kanadı|kitap kitabı kitaba|fikir fikri|vakit vakti|omuz omzu|karın karnı",
        "k=ğı k=ği k=ğu k=ğü k=ğa k=ğe mak=ıyor mek=iyor mak=dı mek=di mak=acak mek=ecek a=alar e=eler",
    ),
    "lithuanian": OtherForms("žmogus žmonės žmonių|šuo šunys šuns|vanduo vandens|akmuo akmenys|sesuo seserys"),
    "estonian": OtherForms(
        "jalg jalad jala|käsi käed käe|tuba toad toas|vesi vee|poeg pojad poja|lind linnud linnu|sõber sõbrad sõbra|"
        "linn linna linnas|kool kooli koolis|mees mehed mehe|naine naised naise|inimene inimesed inimese|laps lapsed"
        " lapse|kuu kuud|uks uksed|pea pead|aeg ajad aja|tee teed|leib leivad leiva",
        "nn=nnas",
    ),
    "armenian": OtherForms("գիրք գրքեր գրքի|տուն տներ տան|սիրտ սրտեր|շուն շներ|մարդ մարդիկ|կին կանայք"),
    "hebrew": OtherForms("עיר ערים|בית בתים|אישה נשים אשה|שנה שנים|יום ימים|איש אנשים|בת בנות|ראש ראשים|לב לבבות"),
    "arabic": OtherForms(
        "كتاب كتب|ولد أولاد|مدينة مدن|بيت بيوت|رجل رجال|طالب طلاب|مدرسة مدارس|شارع شوارع|درس دروس|قلم أقلام|"
        "باب أبواب|صورة صور|يوم أيام|شهر أشهر شهور|سنة سنوات|خبر أخبار|عمل أعمال|دولة دول|شركة شركات|طفل أطفال|"
        "امرأة نساء|بلد بلدان بلاد|كلب كلاب|جبل جبال|بحر بحار|نهر أنهار|عين عيون|قلب قلوب|مكتب مكاتب|مطعم مطاعم|"
        "فيلم أفلام|رقم أرقام|سعر أسعار|صديق أصدقاء|لاعب لاعبون لاعبين|حرب حروب|ملك ملوك|سؤال أسئلة|جواب أجوبة|"
        "كرسي كراسي|غرفة غرف|سيارة سيارات|كلمة كلمات|لغة لغات|مقال مقالات|برنامج برامج|مشروع مشاريع",
        "ة=ات",
    ),
    "hindi": OtherForms("करना किया|जाना गया गई गए|लेना लिया|देना दिया", "ा=ाएँ ा=ाएं"),
    "persian": OtherForms(
        "رفتن رفت رفتم می‌رود می‌روم|گفتن گفت می‌گوید|کردن کرد می‌کند|شدن شد می‌شود|دیدن دید می‌بیند|آمدن آمد می‌آید|"
        "خوردن خورد می‌خورد|نوشتن نوشت می‌نویسد|خواندن خواند می‌خواند|زن زنان|مرد مردان|دوست دوستان",
    ),
}  # fmt: skip

OTHER_FORMS: Mapping[str, FindForms] = {
    "english": irregular_forms,
    **{name: forms.of for name, forms in _FORMS.items()},
}
"""Name of a stemmer -> a function that returns the forms of a word that this stemmer misses."""
