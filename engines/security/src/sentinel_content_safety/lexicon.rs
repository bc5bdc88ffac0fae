//! Phrases of unsafe content in four languages, over plain text (lower case, single spaces).

use std::sync::LazyLock;

use regex::Regex;

use super::Category::{self, Dangerous, Harassment, Hate, SelfHarm, Sexual, Violence};
use crate::decode::ascii_classes;

/// A phrase and what it weighs, in natural logarithms of odds.
pub(super) struct Phrase {
    pub(super) category: Category,
    pub(super) weight: f64,
    /// Whether a negation or a harmless context before and around it counts; not where the phrase has its own.
    pub(super) context: bool,
    /// Whether somebody may be about to hurt themselves.
    pub(super) risk: bool,
    pub(super) pattern: Regex,
}

const WORD: f64 = 1.3;
const LIKELY: f64 = 2.6;
const CLEAR: f64 = 3.6;

/// Category, weight, whether context counts, whether it is a risk to life by own hand, pattern.
type Row = (Category, f64, bool, bool, &'static str);

static ROWS: &[Row] = &[
    // Violence: threats, intent, calls for it.
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\b(?:i(?:'m| am)?|we(?:'re| are)?|he|she|they)(?:'ll|'d| will| would| am| are| is| was)?(?: (?:just|really|so|now|swear|promise|to|gonna|going|want|wanna|plan|planning|love|about|like|ready|should|must|have|need|says?|said)){0,5} (?:kill|shoot|stab|murder|strangle|slaughter|torture|behead|lynch|execute|slit|cut|break|smash|punch|beat|burn|hurt|choke|hang)\b(?: down)? (?:you|him|her|them|my (?:wife|husband|boss|ex|neighbou?r|family|mother|father|sister|brother)|your|his|their|the (?:\w+ )?(?:family|people|protesters|teacher|boss)|every (?:bone|one)|everyone|everybody|all of)",
    ),
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\b(?:let's|lets|we should|someone (?:needs|has|ought) to|somebody (?:needs|has) to|they should all be|should all be|gonna|going to) (?:kill|shoot(?: up)?|stab|murder|lynch|beat(?: up)?|burn|hang|behead|shot|killed|hanged|burned|lined up|put a (?:bullet|knife))\b",
    ),
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\b(?:bullet|knife|gun|axe|hammer) (?:in|into|through|to) (?:you|your|his|her|their|that|the) ?(?:\w+ )?(?:head|skull|chest|throat|back|mayor|president|boss|belly|stomach)?\b|\b(?:cut|slit) (?:your|his|her|their) throats?\b|\bset (?:you|him|her|them) on fire\b|\brun (?:over|down) (?:the|those|all) (?:\w+ )?(?:protesters|people|crowd|kids|children)\b",
    ),
    (
        Violence,
        LIKELY,
        true,
        false,
        r"\b(?:you're|you are|he's|she's) (?:a )?dead(?: meat)?\b(?: man)?|\bwatch your back\b|\bi know where (?:you|he|she|they|your \w+) (?:live|lives|work|works|sleep)\b|\bcoming for you\b|\b(?:there will be|will spill) blood\b|\bor (?:we|i|they|you)(?:'ll| will)? (?:get|will get|be)? ?(?:hurt|killed|shot)\b|\bmake (?:them|him|her|you) (?:all )?(?:pay|bleed|suffer)\b",
    ),
    (
        Violence,
        LIKELY,
        true,
        false,
        r"\b(?:get away with|hire (?:someone|somebody|a (?:killer|hitman)) to|pay (?:someone|somebody) to) (?:kill|murder|murdering|killing|hurt|beat)\b|\b(?:bring|brought|bringing|take|taking|have) (?:a|my|the) (?:gun|rifle|knife|pistol|bomb) (?:to|into|ready)\b|\bdeath to\b",
    ),
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\bich (?:werde|will|könnte|bringe?|steche?|schlage?|erschieße) (?:dich|ihn|sie|euch|alle)?\b[^.!?]{0,40}\b(?:um(?:bringen)?|töten|ab|abstechen|tot|erschießen|verprügeln|abknallen)\b|\b(?:sollte|sollten|müsste|müssten)\b[^.!?]{0,40}\b(?:erschießen|umbringen|töten|aufhängen|anzünden|verbrennen|vergasen|totschlagen)\b",
    ),
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\bje (?:vais|veux) (?:te|le|la|les|lui|vous) (?:tuer|buter|égorger|poignarder|casser|frapper|brûler|crever)\b|\bon va (?:te|le|la|les|lui)? ?(?:tuer|brûler|buter|casser)\b|\bje te (?:plante|tue|bute|crève)\b",
    ),
    (
        Violence,
        CLEAR,
        true,
        false,
        r"\b(?:te|lo|la|los|le|les) (?:voy|vamos) a (?:matar|disparar|apuñalar|quemar|golpear|cortar|romper|dar una paliza)\b|\b(?:voy|vamos) a (?:matar|disparar|apuñalar|quemar|degollar|dar(?:le|te|les))(?:te|lo|la|le|los|les)?\b|\bhabría que (?:matar|quemar|fusilar|colgar)",
    ),
    // Self-harm: intent, plans, methods, others at risk.
    (
        SelfHarm,
        CLEAR,
        true,
        true,
        r"\b(?:kill(?:ing)?|hang(?:ing)?|shoot(?:ing)?|drown(?:ing)?|poison(?:ing)?) (?:myself|himself|herself|themselves)\b|\b(?:end|ending|take|taking|took) (?:my|his|her|their)(?: own)? li(?:fe|ves)\b|\bcommit(?:ting|ted)? suicide\b",
    ),
    (
        SelfHarm,
        CLEAR,
        true,
        true,
        r"\bi (?:just |really |only )?(?:want|wanna|wish|need|plan|intend|decided)(?: to)? (?:die|be dead|disappear forever|end it(?: all)?|never wake up|fall asleep and never wake|i (?:was|were) dead|be gone|i had never been born)\b|\bi(?:'m| am) (?:feeling |so )?suicidal\b|\bi feel suicidal\b|\bi(?:'m| am)? (?:ending|going to end|gonna end) (?:it|everything|my)\b|\b(?:thinking|thoughts?|think) (?:about|of) (?:suicide|dying|jumping|overdosing|ending it|killing)\b|\btalks? (?:about|of) (?:dying|suicide)\b",
    ),
    (
        SelfHarm,
        CLEAR,
        false,
        true,
        r"\b(?:don't|do not|dont|no longer) (?:want|wanna) to (?:be alive|live|exist|wake up|go on living|be here)\b|\bno (?:point|reason) (?:in |to )(?:living|live|going on|go on|come down|be alive|stay alive)\b|\blife is not worth living\b|\b(?:nobody|no one|no-one) (?:will|would) (?:miss|notice)\b|\bbetter off (?:without me|if i (?:was|were) (?:dead|gone))\b",
    ),
    (
        SelfHarm,
        LIKELY,
        true,
        true,
        r"\b(?:cut|cuts|cutting|burn|burning|hurt|hurting|harm|harming) (?:myself|herself|himself|themselves|my (?:arms?|wrists?|legs?|skin|thighs?))\b|\bi(?:'ll| will) be (?:dead|gone) by\b|\b(?:won't|will not) be here (?:tomorrow|anymore|any more)\b|\bgoodbye (?:letter|note|everyone|world)\b|\bsuicide note\b|\bhide my (?:cuts|scars)\b",
    ),
    (
        SelfHarm,
        LIKELY,
        true,
        true,
        r"\b(?:painless|least painful|easiest|quickest|best) way to (?:die|end|kill)\b|\bnever wake up\b|\btie a noose\b|\btake them all\b|\b(?:pills|tablets)\b[^.!?]{0,60}\b(?:enough to|all at once|not wake|never wake|end)\b|\bdone with life\b|\bstanding on the (?:roof|ledge|bridge)\b|\b(?:i have|got) (?:a|the) (?:rope|noose)\b",
    ),
    (
        SelfHarm,
        CLEAR,
        false,
        true,
        r"\b(?:nicht mehr|nicht länger) (?:leben|weiterleben|da sein|aufwachen)\b|\b(?:ich|sie|er) (?:will|möchte|werde) (?:sterben|tot sein)\b|\bbringe? mich\b[^.!?]{0,30}\bum\b|\bmich (?:umbringen|umzubringen|töten)\b|\b(?:sich|mir) das leben (?:nehmen|zu nehmen)\b|\britzt (?:sich|mich)\b|\britze mich\b|\bdenke\b[^.!?]{0,25}\b(?:selbstmord|suizid)\b|\btabletten (?:schon )?gesammelt\b",
    ),
    (
        SelfHarm,
        CLEAR,
        false,
        true,
        r"\bje (?:veux|voudrais|préfère) mourir\b|\bme suicider\b|\bme tuer\b|\ben finir\b|\bplus envie de vivre\b|\bme (?:scarifie|taillade|pendre)\b|\bmettre fin à mes jours\b",
    ),
    (
        SelfHarm,
        CLEAR,
        false,
        true,
        r"\b(?:quiero|deseo|prefiero) morir(?:me)?(?:,|$| ya| y | hoy| esta)|\bsuicidarme\b|\bmatarme\b|\bquitarme la vida\b|\bno quiero (?:seguir )?viv(?:ir|iendo)\b|\bme (?:corto|hago cortes)\b|\bacabar con mi vida\b",
    ),
    // Sexual content.
    (
        Sexual,
        CLEAR,
        true,
        false,
        r"\b(?:porn|porno|pornography|xxx|blow ?jobs?|hand ?jobs?|dick pics?|deepfake porn|masturbat\w+|orgasms?|horny|cumshot|gangbang|sex ?slave|sext(?:ing)?)\b|\bsend (?:me )?(?:your )?(?:nudes?|naked)\b|\b(?:nude|naked) (?:pics?|pictures?|photos?|videos?|selfies?|body)\b|\bfuck (?:me|her|him|you (?:hard|all))\b",
    ),
    (
        Sexual,
        LIKELY,
        true,
        false,
        r"\b(?:explicit|graphic|erotic|hardcore|uncensored|dirty|dirtiest|steamy)\b[^.!?]{0,30}\b(?:sex\w*|scenes?|story|stories|fantas\w+|content|detail)\b|\b(?:have|having|had) sex\b|\bsex (?:scene|tonight|with me|chat)\b|\bshow (?:me )?(?:your|her) (?:tits|boobs|breasts|pussy|ass)\b|\b(?:tits|pussy|cock)\b[^.!?]{0,20}\b(?:suck|lick|wet|hard)\b|\b(?:suck|lick)\b[^.!?]{0,25}\b(?:tits|pussy|cock|body|nipples)\b|\btouch yourself\b|\bwhat are you wearing\b|\bused panties\b|\bcam ?(?:show|girl)s?\b",
    ),
    (
        Sexual,
        CLEAR,
        true,
        false,
        r"\bnacktbild\w*|\bficken\b|\bgeil, (?:lass|komm)|\bversaute?n?\b|\bporno\w*|\bsexgeschichte\w*|\b(?:bin|so) geil\b",
    ),
    (
        Sexual,
        CLEAR,
        true,
        false,
        r"\bphotos? de toi nue?\b|\bscène de sexe\b|\b(?:me|te|la|le) baiser\b|\btrès excitée?\b|\bsexe? explicite\b|\bfotos desnud[ao]\b|\bporno\b|\bfantas[ií]as? sexual\w*|\bfóllame\b|\bcoger conmigo\b",
    ),
    // Hate: a group that is made less than human, or whose removal is called for.
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:jews?|jewish|muslims?|islam|christians?|arabs?|black(?:s| people)|whites?|asians?|mexicans?|indians?|africans?|roma|gyps(?:y|ies)|immigrants?|migrants?|foreigners?|refugees?|gays?|lesbians?|homosexuals?|trans(?:gender)?(?: people)?|women|disabled|people of that (?:religion|race|faith|colou?r))\b[^.!?]{0,60}\b(?:vermin|cockroach(?:es)?|parasites?|subhumans?|animals|savages|inferior|plague|filth|filthy|scum|freaks?|criminals|rapists|thieves|exterminat\w+|eliminat\w+|wiped? out|eradicat\w+|put down|gassed|deserve to (?:die|live)|burden|disgusting|stupid|driven out|send them back|get rid of)\b",
    ),
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:exterminate|eliminate|gas|deport all|get rid of|hate|hates|burn every|purge|send every|no more|filthy|dirty|stinking|free of|send back)\b[^.!?]{0,25}\b(?:jews|muslims|arabs|blacks|asians|mexicans?|indians|roma|gyps(?:y|ies)|immigrants|migrants|foreigners|refugees|gays|fags|faggots|lesbians|trans people|women|church|synagogue|mosque)\b",
    ),
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:white power|heil hitler|sieg heil|race traitor|master race|subhumans?|untermensch\w*|hitler (?:was right|should have)|niggers?|faggots?|fags|kikes?|gas the)\b|\bonly good \w+ is a dead\b|\bno (?:blacks|jews|mexicans|muslims|irish|gays)\b[^.!?]{0,25}\b(?:allowed|dogs|here|welcome)\b|\bbelong in the kitchen\b",
    ),
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:ausländer|juden|muslime|flüchtlinge|schwule|zigeuner|frauen|türken|asylanten)\b[^.!?]{0,50}\b(?:ungeziefer|parasiten|ausgerottet|vergast|raus|dreck|krank|weggesperrt|abschaum|untermenschen|minderwertig|vernichtet)\b",
    ),
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:arabes|juifs|musulmans|noirs|homosexuels|immigrés|étrangers|roms|gitans|migrants)\b[^.!?]{0,60}\b(?:parasites|dehors|dégénérés|éliminer|débarrasser|vermine|inférieurs|sales|exterminer|dirigent le monde)\b",
    ),
    (
        Hate,
        CLEAR,
        true,
        false,
        r"\b(?:inmigrantes|judíos|musulmanes|negros|gitanos|homosexuales|maricones|extranjeros|moros)\b[^.!?]{0,60}\b(?:plaga|exterminar\w*|ladrones|raza inferior|parásitos|basura|fuera|escoria|eliminar\w*|asquerosos)\b",
    ),
    // Instructions for what endangers many or is a crime.
    (
        Dangerous,
        CLEAR,
        true,
        false,
        r"\b(?:how (?:do|can|could|would|should) (?:i|we|you|one)|how to|tell me how|teach me|show me how|explain how|steps? (?:to|for)|instructions? (?:for|to|on)|recipe (?:for|of)|guide (?:for|to|on)|blueprint (?:for|of)|best way to|easiest way to|way to|give me|where can i|i need)\b[^.!?]{0,70}\b(?:bombs?|explosives?|detonator|grenade|molotov|napalm|nerve gas|sarin|ricin|anthrax|botulinum|mustard gas|chlorine gas|poison|crystal meth|meth(?:amphetamine)?|fully automatic|silencer|untraceable|ghost gun|bacteria|pathogen|smuggle|kidnap|derail|ransomware|malware|counterfeit|without a background check|pacemaker|chemical plant|explodes?)\b",
    ),
    (
        Dangerous,
        LIKELY,
        true,
        false,
        r"\b(?:leaves? no trace|undetectable|without (?:anyone|anybody|being) (?:noticing|noticed|seen|caught))\b[^.!?]*|\b(?:pipe|dirty|nail|fertili[sz]er|homemade) bombs?\b|\b(?:homemade|improvised) (?:explosives?|napalm|weapons?)\b|\b(?:dose|much|many)\b[^.!?]{0,30}\bkills? (?:someone|somebody|a person|people)\b",
    ),
    (
        Dangerous,
        CLEAR,
        true,
        false,
        r"\b(?:wie (?:baue|baut|mache|stelle|kann) (?:ich|man)|anleitung)\b[^.!?]{0,50}\b(?:bombe|rohrbombe|sprengstoff|gift|giftgas|nervengas|waffe|zünder|drogen)\b",
    ),
    (
        Dangerous,
        CLEAR,
        true,
        false,
        r"\b(?:comment (?:fabriquer|faire|construire|préparer)|recette d)\b[^.!?]{0,40}\b(?:bombe|explosifs?|poison|gaz|arme|détonateur|drogue)\b|\b(?:cómo (?:se )?(?:fabrica|hacer|hago|hace|construir|preparar)|pasos para|receta (?:de|para))\b[^.!?]{0,40}\b(?:bomba|explosivos?|veneno|gas nervioso|arma|drogas?)\b",
    ),
    // Harassment: insults and threats to a person, calls to join in.
    (
        Harassment,
        CLEAR,
        true,
        false,
        r"\b(?:you(?:'re| are)?|your|such a|you're such a|what a|shut up,? you|u r)\b[^.!?]{0,30}\b(?:idiot|moron|loser|pig|whore|slut|bitch|cunt|pathetic|worthless|retard(?:ed)?|piece of shit|trash|freak|scum|ugly|disgusting|waste of space|nobody|stink|crybaby|asshole|dumb|stupid)\b",
    ),
    (
        Harassment,
        CLEAR,
        true,
        false,
        r"\bkill yourself\b|\bkys\b|\bgo (?:and )?(?:die|hang yourself)\b|\beverybody hates you\b|\b(?:nobody|no one) (?:likes|loves|wants) you\b|\bmake your life hell\b|\bwe will never leave you alone\b|\b(?:dumb|stupid|fat|ugly|filthy|little) (?:cunt|bitch|whore|slut|pig|loser|freak)\b|\bwhat a (?:bitch|slut|whore|loser)\b|^slut\b|\bfor you[^.!?]{0,10}you freak\b",
    ),
    (
        Harassment,
        LIKELY,
        true,
        false,
        r"\b(?:post|publish|leak|share|send) (?:your|her|his) (?:address|photos?|pictures|number|nudes)\b|\bfollow you (?:every|everywhere|home|until)\b|\b(?:watching|i see) you through\b|\byou can't hide\b|\b(?:flood|spam|bombard) (?:her|him|them) with\b|\beveryone (?:call|laugh at|report|message|mock) (?:her|him|the|them)\b|\bmake sure everyone knows\b|\bif you don't answer\b",
    ),
    (
        Harassment,
        CLEAR,
        true,
        false,
        r"\b(?:halt|halte) (?:einfach )?die (?:fresse|schnauze|klappe)\b|\bdu (?:bist|hässliche|dumme|blöde|fette|wertlose\w*)\b[^.!?]{0,30}\b(?:dumm|schlampe|dreck|idiot|sau|hure|arschloch|abschaum|opfer)\b|\bverpiss dich\b|\bniemand mag dich\b|\bwertloses stück\b",
    ),
    (
        Harassment,
        CLEAR,
        true,
        false,
        r"\bferme ta gueule\b|\bta gueule\b|\bespèce d(?:e |')(?:gros |sale )?\w+|\btu es une? (?:merde|ordure|pute|connard|salope|idiot)\b|\bpersonne ne (?:t'aime|veut de toi)\b|\beres (?:una?|tan) (?:basura|mierda|idiota|puta|estúpid[ao]|asco)\b|\btodos te odian\b|\b(?:cállate|vete)\b[^.!?]{0,20}\b(?:gord[ao]|asqueros[ao]|idiota|puta|imbécil)\b",
    ),
    // Words that are a sign and no proof.
    (Violence, WORD, true, false, r"\b(?:murder|slaughter|massacre|behead|lynch|torture|strangle|stab)\w*\b"),
    (Sexual, WORD, true, false, r"\b(?:nudes?|naked|erotic|sexual|fantasy|seductive|undress)\b"),
    (Hate, WORD, true, false, r"\b(?:vermin|subhuman|exterminate|purify|inferior race)\b"),
    (
        Dangerous,
        WORD,
        true,
        false,
        r"\b(?:bomb|explosives?|detonator|nerve gas|ricin|anthrax|meth|napalm|untraceable)\b",
    ),
    (Harassment, WORD, true, false, r"\b(?:moron|idiot|bitch|slut|whore|cunt|retard)\b"),
    (SelfHarm, WORD, true, false, r"\b(?:suicid\w+|self-harm|selbstmord|suizid\w*|noose|overdos\w+)\b"),
];

pub(super) static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let phrase = |(category, weight, context, risk, text): &Row| {
        let pattern = Regex::new(&ascii_classes(text)).ok()?;
        Some(Phrase { category: *category, weight: *weight, context: *context, risk: *risk, pattern })
    };
    ROWS.iter().filter_map(phrase).collect()
});

/// Number of phrases, of which each must be a pattern.
#[cfg(test)]
pub(super) const COUNT: usize = ROWS.len();

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(&ascii_classes(text)).ok()
}

/// A negation at the end of what stands before a phrase, with at most four words between.
static NEGATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|no|don't|dont|doesn't|didn't|won't|wouldn't|cannot|can't|without|nicht|nie|kein\w*|ne|pas|jamais|nunca|jamás|sin)(?: [^ ]+){0,4} ?$|\b(?:not|never|don't|didn't|won't|wouldn't|do not|does not|did not) ?$",
    )
});

/// Words around a phrase that make it a report, fiction, technology or help.
static HARMLESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(?:process|processes|server|script|node|thread|daemon|task|transaction|battery|film|movie|novel|book|chapter|poem|song|opera|play ends|game|quest|level|boss has|character|chess|crossword|museum|historian?s?|history|century|documentary|exhibition|lecture|court|sentenced|police|witness|suspect|reported|journalists?|law|treaty|parliament|bans?|banned|disposal|inspectors?|prevention|prevent|helpline|hotline|crisis line|support group|warning signs|statistics?|by region|survey|study|studies|screening|clinic|doctor|nurse|therap\w+|symptoms?|victims?|remembers?|examines|explains? (?:how|why)|describes? how|denied|moderators?|headache|weeds?|pest|dragon|deadline|comedian|stage|used to (?:think|feel|want)|glad|got help|got clean|licen[cs]e|comité|musée|film|roman|jeu|musée|police|loi|ligne d'écoute|museo|película|novela|juego|policía|ley|línea|museum|roman|spiel|polizei|gesetz|telefonseelsorge|prozess|proceso|processus)\b",
    )
});

/// What a phrase's weight is multiplied by for what stands before it, and what is taken off for what stands around it.
pub(super) fn negated(before: &str) -> bool {
    NEGATION.as_ref().is_some_and(|pattern| pattern.is_match(before))
}

pub(super) fn in_harmless_context(sentence: &str) -> bool {
    HARMLESS.as_ref().is_some_and(|pattern| pattern.is_match(sentence))
}
