"""Build-time only: function words of languages that stopwords-iso lacks.

STOP_WORDS are lists of stop words by ISO 639-1 code, as in the table of languages. The Yiddish list has points and no
ligatures; the build makes the other spellings from it. MARK_WORDS, by ISO 639-3 code, only help to guess: these
languages have no n-gram profile, and Sonic has no list for them, so none of their words is ever a stop word.
"""

STOP_WORDS = {
    "az": (
        "və ilə üçün bu o bir da də ki amma lakin ancaq isə hər mən sən biz siz onlar onu ona onun ondan onda mənim "
        "sənin bizim sizin onların mənə sənə bizə sizə məni səni nə kim necə niyə harada hansı neçə var yox yoxdur "
        "deyil idi olan olaraq olub olur olar oldu daha ən çox kimi qədər sonra əvvəl belə elə həm ya yaxud əgər "
        "çünki buna bunu bunun bundan bunlar öz özü hələ artıq yalnız bütün bəzi heç görə qarşı haqqında üzrə "
        "arasında indi burada orada edir etdi edən"
    ),
    "my": (
        "သည် က ကို မှာ တွင် မှ နှင့် နဲ့ ၏ ရဲ့ တယ် မယ် ပါ ပါတယ် ပါသည် ၍ လျှင် ဖြင့် သို့ အတွက် ကြောင့် လည်း ပဲ သာ "
        "တော့ ထို ဤ ဒီ အဲဒီ ဟို ကျွန်တော် ကျွန်မ ကျွန်ုပ် ငါ မင်း သူ သူမ သူတို့ ကျွန်တော်တို့ ရှိ ရှိသည် ဖြစ် ဖြစ်သည် "
        "မဟုတ် မရှိ များ တွေ တို့ ဘာ ဘယ် ဘယ်သူ ဘယ်လို ဘယ်မှာ ဘာကြောင့် နှင့်အတူ သို့မဟုတ် ဒါပေမဲ့ သို့သော် "
        "ထို့ကြောင့် အခါ ပြီး ပြီ အရ အပေါ် အောက် အတွင်း ကနေ ထက် ဟု လို့ လျက် စွာ သော သောကြောင့် ခဲ့ ခဲ့သည် နေ "
        "နေသည် လိမ့်မည် မည် ရန် အား"
    ),
    "km": (
        "និង ជា បាន មាន នៅ ក្នុង ដែល ពី នេះ នោះ ការ ទៅ មក ឲ្យ ឱ្យ ដោយ សម្រាប់ ដើម្បី ក៏ ហើយ ឬ តែ ប៉ុន្តែ បើ "
        "ប្រសិនបើ ព្រោះ ពីព្រោះ ដូច ដូចជា ជាមួយ ទាំង ទាំងអស់ គឺ របស់ លើ ក្រោម ក្រោយ មុន រវាង ខ្ញុំ អ្នក គាត់ នាង "
        "យើង ពួកគេ ពួក គេ វា មិន មិនមែន ពុំ នឹង កំពុង ត្រូវ អាច គួរ ណា អ្វី នរណា ហេតុអ្វី យ៉ាង យ៉ាងណា ប៉ុន្មាន នៃ "
        "ចំពោះ តាម ដល់ ចេញ ចូល ឡើង ចុះ ខ្លះ ផ្សេង ទៀត ណាស់ ទេ ផង ដែរ នៅពេល"
    ),
    "ne": (
        "र छ छन् हो हुन् थियो थिए हुन्छ हुने भएको भएका भयो भए गर्ने गरेको गर्न गरे गरी को का की ले लाई मा बाट देखि "
        "सम्म सँग लागि यो त्यो यी ती यस त्यस उनी उनको उनले उनीहरू उहाँ म मेरो मलाई मैले हामी हाम्रो तिमी तिम्रो तपाईं "
        "आफ्नो आफू के किन कहाँ कहिले कसरी कुन कति जो जुन जब तब जहाँ त्यहाँ यहाँ पनि नै तर वा अथवा किनकि यदि भने भनेर "
        "छैन होइन थिएन सबै धेरै केही अरू अन्य एउटा पछि अघि माथि भित्र बीच अनुसार अनि त्यसैले मात्र अब अहिले फेरि जस्तै "
        "रहेको द्वारा तथा"
    ),
    "pa": (
        "ਦਾ ਦੇ ਦੀ ਦੀਆਂ ਨੂੰ ਨੇ ਵਿੱਚ ਵਿਚ ਤੇ ਅਤੇ ਤੋਂ ਨਾਲ ਲਈ ਹੈ ਹਨ ਸੀ ਸਨ ਹਾਂ ਹੋ ਹੋਇਆ ਹੋਈ ਹੋਏ ਹੁੰਦਾ ਹੁੰਦੀ ਹੁੰਦੇ ਗਿਆ "
        "ਗਈ ਗਏ ਕਰ ਕਰਨ ਕੀਤਾ ਕੀਤੀ ਕੀਤੇ ਇਹ ਉਹ ਇਸ ਉਸ ਇਨ੍ਹਾਂ ਉਨ੍ਹਾਂ ਇੱਕ ਇਕ ਮੈਂ ਮੇਰਾ ਮੇਰੀ ਮੇਰੇ ਮੈਨੂੰ ਅਸੀਂ ਸਾਡਾ ਸਾਡੇ "
        "ਸਾਨੂੰ ਤੂੰ ਤੇਰਾ ਤੁਸੀਂ ਤੁਹਾਡਾ ਤੁਹਾਨੂੰ ਆਪਣੇ ਆਪਣਾ ਆਪਣੀ ਜੋ ਜਿਸ ਜਦੋਂ ਜਿੱਥੇ ਇੱਥੇ ਉੱਥੇ ਕੀ ਕੌਣ ਕਿਉਂ ਕਿੱਥੇ ਕਦੋਂ "
        "ਕਿਵੇਂ ਕਿ ਪਰ ਜਾਂ ਜੇ ਤਾਂ ਵੀ ਹੀ ਨਾ ਨਹੀਂ ਸਾਰੇ ਸਭ ਬਹੁਤ ਕੁਝ ਹੋਰ ਕਿਸੇ ਕੋਈ ਉੱਤੇ ਬਾਅਦ ਪਹਿਲਾਂ ਤੱਕ ਵੱਲ ਕੋਲ ਰਿਹਾ "
        "ਰਹੀ ਰਹੇ ਦੁਆਰਾ ਵਾਲਾ ਵਾਲੇ ਵਾਲੀ"
    ),
    "ta": (
        "நான் என் எனக்கு என்னை நாம் நாங்கள் நமது எங்கள் நீ உன் உனக்கு நீங்கள் உங்கள் அவன் அவள் அவர் அவர்கள் அவரது அது "
        "அவை அதன் அதை அதில் அதற்கு இவன் இவள் இவர் இவர்கள் இது இவை இதன் இதை இதில் இதற்கு இந்த அந்த எந்த தன் தனது தான் "
        "ஒரு ஓர் சில பல மற்ற பிற எல்லா எல்லாம் மற்றும் அல்லது ஆனால் எனவே ஆகவே மேலும் என என்று என்ற என்பது என்னும் போல "
        "போன்ற பற்றி மீது மேல் கீழ் உள் இருந்து வரை முன் பின் பிறகு பின்னர் போது கொண்டு மூலம் உடன் விட தவிர மட்டும் "
        "மிக மிகவும் இன்னும் இங்கே அங்கே இங்கு அங்கு எங்கே யார் என்ன ஏன் எப்படி எப்போது உள்ள உள்ளது இருக்கும் இல்லை "
        "வேண்டும் ஆகும்"
    ),
    "yi": (
        "און איז אין די דער דאָס דעם אַ אַן צו פֿון פֿאַר אויף מיט ניט נישט נאָר אָבער אָדער אַז ווי וואָס ווער ווען וווּ "
        "פֿאַרוואָס איך דו ער זי עס מיר איר זיי מיך דיך אים זיך אונדז אייך מייַן דייַן זייַן אונדזער אייער זייער האָט "
        "האָבן בין ביסט זענען זייַנען געווען וועט וועלן וואָלט קען קענען מוז זאָל אויך נאָך שוין דאָ דאָרט בייַ איבער "
        "אונטער צווישן קיין יעדער אַלע אַלץ איצט וועגן ביז אויב ווייַל כּדי מען אַזוי זייט דורך אָן לויט"
    ),
}

MARK_WORDS = {
    "aka": (
        "na no ne wɔ sɛ yɛ ɛno ɛyɛ so mu ho ma de fi bi biara obiara nyinaa deɛ saa yei ɔno yɛn wɔn nso nanso anaa "
        "efisɛ ɛfiri tumi ntumi"
    ),
    "bel": (
        "і ў у не на што як гэта з да па але ён яна яны мы вы быў была было былі ад за пра пры для ці або калі бо "
        "таксама толькі яшчэ ўжо вельмі таму хто які якая якое якія гэты гэтая гэтыя той мяне мне табе яго яе іх нас "
        "вас сябе свой каб дзе тут там так няма ёсць можа трэба усе ўсе ўсё пасля перад паміж без над пад праз"
    ),
    "jav": (
        "lan ing iku kang sing saka karo ora ana iki kuwi aku kowe dheweke kita yen menawa nanging utawa amarga banget "
        "wis durung arep bakal kanggo marang dadi isih uga mung kabeh saben endi apa sapa kapan piye kepriye neng "
        "menyang dening kaya luwih duwe aja mau kono kene"
    ),
    "kur": (
        "û ku ji li bi di de ez tu ew em hûn wê wî wan min ev vê vî her lê belê nîne heye hene bû bûn jî yê yên yek "
        "hemû tiştek kî çi çima kengî çawa çend gelek piştî berî nav navbera ser"
    ),
    "sna": (
        "uye kuti ne pa ku mu asi kana nokuti iye ini iwe isu imi ivo ari iri zviri ndiri hapana kwete here zvino "
        "chete zvakare zvose vose ose wese pamusoro mukati kunze icho ichi iyi iyo uyo uyu ava avo ane vane ine wa ya "
        "cha zva va kubva kusvika"
    ),
    "srp": (
        "и је да се на у су за од са који која које не што као али или био била било бити ће би кад када ово то тај "
        "овај ова они она он ми ви ја ти сам си смо сте није нису шта ко где зашто како само још већ јер ако због "
        "после пре између код по из до него све сви"
    ),
    "tuk": (
        "we bu bilen üçin hem bir ol men sen biz siz olar däl ýok bar boldy bolýar bolan bolsa ýa ýada emma şeýle her "
        "hemme köp soň öň hakynda meniň seniň onuň biziň siziň olaryň muny ony oňa maňa näme kim nirede haçan näçe şol "
        "hiç ýene indi diňe eger sebäbi ýaly"
    ),
    "uzb": (
        "va bu bilan uchun ham bir u men sen biz siz ular emas yo'q bor edi ekan bo'lgan bo'ladi kerak lekin ammo yoki "
        "agar chunki qanday nima kim qayerda qachon nega shu o'sha har hamma barcha juda ko'p keyin oldin haqida "
        "mening sening uning bizning sizning ularning uni unga menga senga bizga sizga shunday esa faqat hech yana "
        "endi hozir "
        "ва бу билан учун ҳам бир мен сен биз сиз улар эмас йўқ бор эди экан керак лекин аммо ёки агар чунки "
        "бўлган бўлади қандай нима ким қаерда қачон нега шу ўша ҳар ҳамма барча жуда кўп кейин олдин ҳақида менинг "
        "сенинг унинг бизнинг сизнинг уларнинг уни унга менга сенга бизга сизга шундай эса фақат ҳеч яна энди ҳозир"
    ),
}
