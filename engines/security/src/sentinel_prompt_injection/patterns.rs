//! Families of instructions that attack a model: patterns over plain text (lower case, single spaces).

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use muster_engine::prelude::*;
use regex::{Regex, RegexSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "kebab")]
pub(super) enum Family {
    Override,
    Exfiltration,
    Delimiter,
    Reveal,
    RolePlay,
    ToolCall,
    Conceal,
    NewInstructions,
    OutputControl,
    Addressed,
    Authority,
}

impl Family {
    /// Weight of evidence, in natural logarithms of odds. What users may ask of their own assistant weighs less there.
    pub(super) fn weight(self, by_user: bool) -> f64 {
        match self {
            Self::Override => 3.4,
            Self::Exfiltration | Self::Delimiter => 3.1,
            Self::Reveal => 2.6,
            Self::RolePlay if by_user => 2.6,
            Self::RolePlay => 3.0,
            Self::ToolCall if by_user => 0.2,
            Self::ToolCall => 2.0,
            Self::Conceal => 2.4,
            Self::NewInstructions if by_user => 0.6,
            Self::NewInstructions => 2.0,
            Self::OutputControl if by_user => 0.0,
            Self::OutputControl => 1.6,
            Self::Addressed if by_user => 1.4,
            Self::Addressed => 2.3,
            Self::Authority => 1.4,
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Override => "tells the model to drop its instructions",
            Self::Exfiltration => "tells the model to send data away",
            Self::Delimiter => "imitates the marks between parts of a conversation",
            Self::Reveal => "asks for hidden instructions or secrets",
            Self::RolePlay => "gives the model a role without rules",
            Self::ToolCall => "tells the model to run a tool or command",
            Self::Conceal => "tells the model to hide what it does",
            Self::NewInstructions => "gives new instructions",
            Self::OutputControl => "dictates the judgement or answer",
            Self::Addressed => "speaks to a model that reads it",
            Self::Authority => "claims authority",
        }
    }
}

use Family::{
    Addressed, Authority, Conceal, Delimiter, Exfiltration, NewInstructions, OutputControl, Override, Reveal, RolePlay,
    ToolCall,
};

/// Patterns with their families.
static PATTERNS: &[(Family, &str)] = &[
    // English
    (
        Override,
        r"\b(?:ignore|disregard|forget|override|overrule|bypass|neglect|skip|drop|discard|abandon|set aside|pay no attention to|do not (?:follow|obey)|don't (?:follow|obey)|stop following)\b(?: (?:all|any|every|everything|each|of|the|your|these|those|this|that|its|and|both|about))* (?:(?:previous|prior|preceding|above|earlier|existing|initial|original|former|past|foregoing|current|system|safety|operator)(?:ly given)?|you (?:were|have been) (?:told|given)|given (?:to you )?(?:before|above))(?: (?:[a-z]+ )?(?:instructions?|prompts?|directions?|directives?|rules?|guidelines?|guardrails?|polic(?:y|ies)|context|messages?|commands?|constraints?|orders?|training|tasks?|programming|restrictions?|checks?)|.{0,3}$| (?:and|before|above|instead|you))",
    ),
    (
        Override,
        r"\b(?:ignore|disregard|forget|override|bypass) (?:all|any|every|everything|your|the|those|these|all of)(?: \w+){0,3} (?:instructions?|rules|guidelines|guardrails|directives?|programming|restrictions|training|you (?:know|were told|have been told|learned))\b",
    ),
    (
        Override,
        r"\b(?:your|the|all) (?:previous |prior |earlier |old )?(?:instructions|rules|guidelines|restrictions) (?:are|have been) (?:now )?(?:cancell?ed|void|obsolete|revoked|superseded|suspended|lifted|deleted|replaced|no longer (?:valid|apply|in effect))",
    ),
    (
        Override,
        r"\b(?:everything|anything|all (?:text|instructions|content)) (?:above|before this)(?: \w+){0,4} (?:is|was|were|are) (?:fake|a test|false|void|invalid|irrelevant|cancell?ed|outdated)",
    ),
    (Override, r"\bstart (?:a )?(?:new|fresh) (?:conversation|session) (?:with(?:out)?|and) (?:no|any|forget)"),
    (
        NewInstructions,
        r"\b(?:new|updated|revised|real|actual|additional|important|special|secret) (?:system )?(?:instructions?|directives?|task|orders?|prompt)(?: \w+){0,4} ?[:：]",
    ),
    (
        NewInstructions,
        r"\b(?:from now on|henceforth|going forward|as of now)\b,? (?:you|your|the assistant|respond|answer|always|only|act)\b",
    ),
    (
        NewInstructions,
        r"\byour (?:new |real |only |actual |true )(?:role|task|goal|objective|purpose|job|mission|instructions?|name) (?:is|are)\b",
    ),
    (
        NewInstructions,
        r"\b(?:instead|before (?:you )?(?:answer|respond|continu|summari|do)\w*),? (?:you (?:must|should|will|need to)|please|first|do|output|write|print|reply|respond|say|send|call|execute)\b",
    ),
    (
        RolePlay,
        r"\byou (?:are|will be|shall be) (?:now |no longer )(?:\w+ ){0,5}?(?:dan|an? (?:unrestricted|unfiltered|uncensored|evil|jailbroken|different|rogue|free)|bound|restricted|in (?:developer|debug|god|admin|sudo|root|maintenance) mode|chatgpt|assistant|\w+gpt)\b",
    ),
    (
        RolePlay,
        r"\b(?:act|behave|respond|answer|pretend|roleplay|role-play|imagine|simulate|operate)(?: \w+){0,6}? (?:unrestricted|unfiltered|uncensored|no (?:rules|restrictions|limits|filters?|guidelines|ethics|moral\w*)|without (?:any )?(?:rules|restrictions|limits|limitations|filters?|censorship|guidelines|ethic\w+|moral\w*|safety)|jailbroken|do anything now|developer mode|evil (?:ai|twin|assistant|confidant))\b",
    ),
    (
        RolePlay,
        r"\b(?:do anything now|jailbreak(?:ed)? (?:mode|yourself)|dan mode|(?:developer|debug|god|sudo|admin|root|maintenance) mode (?:is )?(?:now )?(?:enabled?|activated?|on)|(?:enable|activate|enter|switch to) (?:developer|debug|god|sudo|admin|root|dan|jailbreak|unrestricted) mode)\b",
    ),
    (
        RolePlay,
        r"\b(?:my|our) (?:late |deceased |dead )?(?:grandmother|grandma|granny)\b.{0,80}\b(?:used to|would) (?:read|tell|recite|whisper)",
    ),
    (
        RolePlay,
        r"\b(?:free|freed|liberated|released) (?:from|of) (?:all |any |your |the )?(?:\w+ )?(?:restrictions|rules|constraints|limits|policies|guidelines|shackles)\b",
    ),
    (
        Reveal,
        r"\b(?:reveal|show|print|output|repeat|tell (?:me|us)|display|leak|expose|give (?:me|us)|disclose|dump|share|write (?:out|down)|copy|recite|return|list|quote|spell out|summari[sz]e|translate|encode|what (?:is|are|were)|include)(?: (?:me|us|to me|out|back|in full|exactly|verbatim|word for word))*(?: \w+){0,4}? ?(?:your|the|its|all|any|this)(?: \w+){0,4}? (?:system (?:prompt|message|instructions?)|(?:hidden|secret|initial|original|internal|confidential|developer|first|pre-?) ?(?:prompt|instructions?|rules|guidelines|message)|prompt (?:verbatim|above|you were)|instructions (?:you (?:were|have been) given|above|verbatim|word for word)|api[ _-]?keys?|passwords?|credentials?|secrets?|access tokens?|environment variables|private keys?)\b",
    ),
    (
        Reveal,
        r"\brepeat (?:the words|everything|all (?:of )?the (?:text|words)|the text|all text|what is)(?: \w+){0,2} (?:above|before)\b",
    ),
    (
        Reveal,
        r"\b(?:system|initial|hidden) prompt\b.{0,30}\b(?:verbatim|word for word|in full|code block|base64|in (?:french|german|spanish|english))\b",
    ),
    (
        Reveal,
        r"\bwhat (?:were|are) (?:your|the) (?:exact |initial |original |first |previous |full )+(?:instructions|prompt|rules|guidelines)\b",
    ),
    (
        Exfiltration,
        r"\b(?:send|post|forward|upload|transmit|e-?mail|exfiltrate|leak|submit|deliver|report|copy|bcc|share)\b.{0,100}?\b(?:conversation|chat|history|prompt|credentials?|passwords?|keys?|tokens?|secrets?|user'?s? (?:data|e-?mails?|name|address|files?|messages?)|(?:all |the )?(?:e-?mails|inbox|contacts|files|documents|customer data|personal data|data)|contents?|context|results?|answers?|it)\b.{0,60}?\b(?:to|at|via) (?:https?:|hxxp|ftp:|www\.|[\w.+-]{1,40}@[\w-]{1,40}\.|my (?:server|webhook|e-?mail)|(?:the )?(?:following|this|attacker'?s?|external) (?:url|address|server|e-?mail|webhook|endpoint|site|number))",
    ),
    (
        Exfiltration,
        r"!\[[^\]]{0,80}\]\(https?://[^)\s]{1,200}[?&=/](?:[^)\s]{0,80}=)?(?:\{|\[|<|%7b|\$|data\b|secret|prompt|conversation|summary|history)",
    ),
    (
        Exfiltration,
        r"\b(?:append|add|put|include|insert|embed|encode|place|attach)\b.{0,80}?\b(?:conversation|chat|prompt|credentials?|passwords?|api key|keys?|tokens?|secrets?|user'?s? (?:data|e-?mail|name|address)|history|summary|data)\b.{0,60}?\b(?:url|link|query (?:string|parameter)|image|pixel|parameter|src)\b",
    ),
    (
        Exfiltration,
        r"\b(?:fetch|get|load|open|visit|request|render|navigate to|call|browse to|go to) (?:the )?(?:url|page|link|image|site|website)?:? ?<?https?://\S{1,200}(?:\?|=)\S{0,60}(?:\{|\[|<|\$|secret|key|token|prompt|data|history)",
    ),
    (
        ToolCall,
        r"\b(?:call|invoke|use|run|execute|trigger|launch|activate)(?: \w+){0,4}? (?:`?\w+`?[ _])?(?:tool|function|plugin|api|shell|terminal|interpreter|command|script|code|browser|connector|agent)\b(?: \w+){0,4}? ?(?:to|with|and|:|\(|now|immediately|on|below|following)",
    ),
    (
        ToolCall,
        r"\b(?:run|execute|type|enter|issue|paste)(?: \w+){0,4}? (?:rm -rf|curl |wget |sudo |bash |powershell|chmod |git push|drop table|delete from|pip install|npm install|eval\()",
    ),
    (
        ToolCall,
        r#"<(?:tool_call|function_calls?|invoke|tool_use)\b|"(?:tool|function|tool_name|function_call|recipient_name)" ?: ?"|\b(?:send_email|delete_file|transfer_funds|send_money|execute_code|run_command|write_file|delete_all|create_user|grant_access|read_file|http_get|http_post)\b ?\("#,
    ),
    (
        ToolCall,
        r"\b(?:delete|remove|erase|wipe|transfer|wire|purchase|buy|approve|grant|merge|install|disable|unlock|reset|schedule|book|cancel) (?:all|every|the|this|my|\$?\d+|an?)\b.{0,60}?\b(?:without (?:asking|confirmation|confirming|approval)|immediately and (?:silently|do not)|(?:right )?now and (?:do not|don't))",
    ),
    (
        Conceal,
        r"\b(?:do not|don't|never|must not|without|avoid)\b(?: \w+){0,2}? ?(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|alert|alerting|notify|notifying|show|showing|disclose|disclosing|let|letting|warn|warning|ask|asking|report|reporting|acknowledg\w+)(?: \w+){0,5}? (?:the )?(?:users?|humans?|anyone|operator|owner|person|reader|supervisor|reviewers?)\b",
    ),
    (
        Conceal,
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge|refer to|repeat|quote|show) (?:this|these|that|the above|the existence of|having)(?: \w+){0,3}? ?(?:instructions?|message|note|paragraph|comment|prompt|text|request)?",
    ),
    (
        Conceal,
        r"\b(?:keep|hide) (?:this|it|these)(?: \w+){0,3} (?:secret|hidden|confidential|from (?:the )?(?:user|human|operator|owner))\b|\bsilently (?:send|call|execute|run|add|forward|insert|delete|perform|follow)\b",
    ),
    (
        Delimiter,
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|end_of_turn|start_header_id|eot_id|begin_of_text)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>|\bend_of_(?:prompt|turn)\b",
    ),
    (
        Delimiter,
        r"(?:^|[\s>*`#\]-])(?:system|developer|admin(?:istrator)?) ?(?:prompt|message|note|override|instruction|update|alert)?s? ?(?:\]|>)? ?[:：]\s?(?:\w+ ){0,4}(?:you|ignore|new|must|the assistant|assistant|override|important|disregard|forget|from|all|the user|user|enable|grant|approve|print|reveal|send)\b",
    ),
    (
        Delimiter,
        r"</?(?:system|instructions?|document|user_input|user|assistant|context|untrusted|data|tool_result|function_results)>\s*(?:</?\w+>\s*)*(?:you|now|ignore|new|system|assistant|important|please|disregard|<(?:system|instructions?|assistant))",
    ),
    (
        Delimiter,
        r"(?:-{3,}|={3,}|#{3,}|\*{3,}|\[|<)\s?(?:end|begin|start|stop) (?:of )?(?:the )?(?:\w+ )?(?:user|system|admin|prompt|input|document|context|instructions?|untrusted|override|conversation|data|text|article|e-?mail)\b[^\n]{0,40}?(?:-{3,}|={3,}|#{3,}|\*{3,}|\]|>)",
    ),
    (
        Addressed,
        r"\b(?:dear|attention|note (?:to|for)|hey|hello|hi|message (?:to|for)|instructions? (?:to|for)|important (?:for|to)|memo to|reminder for)(?: \w+){0,3}? (?:ai|a\.i\.|llms?|language models?|assistants?|chatbots?|chatgpt|gpt|claude|gemini|copilot|bots?|agents?|models?|summari[sz]ers?|crawlers?)\b",
    ),
    (
        Addressed,
        r"\bif you(?: are|'re)(?: \w+){0,3}? (?:ai|llm|language model|assistant|chatbot|bot|agent|model|summari[sz]er|automated)\b",
    ),
    (
        Addressed,
        r"\b(?:ai|llm|language models?|assistants?|chatbots?|agents?|models?|bots?|systems?)(?: \w+){0,2}? (?:reading|processing|summari[sz]ing|parsing|evaluating|reviewing|analy[sz]ing|screening|that (?:reads?|process\w*|summari\w*|evaluat\w*)|who reads?) (?:this|these|the following|it)\b",
    ),
    (
        Authority,
        r"\b(?:as|i am|i'm|this is|we are|speaking as) (?:your |the |an? )?(?:authorized |lead |chief |senior |system )*(?:developers?|administrator|admin|creator|owner|operator|engineer|root user|superuser|openai|anthropic|google|security team|supervisor)\b.{0,60}?\b(?:i|you|we|must|need|authori[sz]e|grant|require|order|instruct|allowed|permission|override)\b",
    ),
    (
        Authority,
        r"\b(?:admin(?:istrator)?|root|security|emergency|developer|master) (?:override|authori[sz]ation|access|clearance|code|passphrase)(?: \w+){0,3} ?(?:[:：]|granted|accepted|confirmed|active|enabled|code)",
    ),
    (
        OutputControl,
        r"\b(?:rate|score|rank|grade|evaluate|assess|recommend|classify|mark|label|describe|review|judge|treat)(?: \w+){0,5}? (?:as (?:the )?(?:best|top|excellent|highly|perfect|safe|benign|approved|passed|outstanding|exceptional|qualified|non-?spam|legitimate|harmless)|10/10|100|a perfect|the highest|five stars?|very highly|positively|accept)\b",
    ),
    (
        OutputControl,
        r"\b(?:always|only|must|should|please|then|simply|just)\b(?: \w+){0,2}? (?:answer|respond|reply|say|output|state|conclude|print|write|recommend)(?: \w+){0,3}? ?(?:with|that|:|only|exactly|the (?:word|phrase|following)|\x22|')",
    ),
    (
        Override,
        r"\b(?:turn off|switch off|disable|remove|removes|break|lift|lifts|drop|deactivate|skip)(?: (?:all|any|of|the|your|these|its|every))* (?:safety|content|security)? ?(?:filters?|guardrails|guidelines|limitations|restrictions|safeguards|persona|protections?|safety checks?)\b",
    ),
    (
        Override,
        r"\b(?:instructions?|rules|guidelines|text|prompt)(?: (?:above|before this|given|you were given|between the tags))+ (?:is|are|was|were) (?:only )?(?:an? )?(?:test|trick|fake|decoy|lie|joke|outdated|void|wrong)\b|\bregardless of (?:your|any|the) (?:guidelines|rules|instructions|policies)\b|\b(?:first )?ignore (?:it|that|this) and (?:instead )?(?:print|output|say|reveal|write|tell|show)\b|\b(?:instructions|rules|guidelines|restrictions) are (?:hereby|now) \w+",
    ),
    (
        Reveal,
        r"\b(?:print|dump|output|reveal|give|tell|say|disclose|share|encode|return|display|show|leak|hand over)\b(?: \w+){0,5}? (?:admin token|secret keys?|session tokens?|environment variables|context window|hidden prompt|internal prompt|access codes?|the secret|your secrets|its secrets|(?:what|which instructions) you (?:were|got|had|have been)|/etc/shadow|contents of your)\b|\btext of the first message\b|\b(?:exact|initial|original|hidden|secret) (?:initial |system )?instructions\b.{0,40}\b(?:verbatim|output|print|word for word)\b",
    ),
    (
        Addressed,
        r"(?:^|<!-- ?|[(\[{] ?)(?:ai|llm|gpt|assistant|model|bot)s? ?:|\bwhen (?:the |an? |any )?(?:ai|assistant|model|llm|agent|bot|chatbot)(?: \w+){0,2} (?:reads?|sees?|process\w*|summari\w*|opens?)\b|\bwhen summari[sz]ing\b.{0,30}\b(?:insert|add|include|do not|say|mention)\b|\bas (?:an? )?(?:ai|language model)\b.{0,30}\b(?:you|reading)\b",
    ),
    (
        Addressed,
        r"\b(?:falls|wenn) du (?:eine? )?(?:ki|sprachmodell|assistent|bot)\b|\bsi eres (?:un|una) (?:modelo|ia|asistente)|\bsi tu es (?:un|une) (?:mod[èe]le|ia|assistant)|\bse sei (?:un|una) (?:modello|ia)|\b(?:hinweis|nachricht|anweisung) an (?:die|den|das) (?:ki|assistent\w*|modell|sprachmodell)|\b(?:nota|note|message|mensaje|messaggio|mensagem) (?:para|pour|au|per|alla|[àa])(?: (?:la|el|l'|le|o|a|os|as))? ?(?:l')?(?:ia|assistant\w*|asistente|assistente|mod[èe]le|modelo|modello)\b|(?:примечание|сообщение|инструкция) для (?:ии|модели|ассистента)|给 ?(?:ai|人工智能|模型|助手)的|(?:ai|モデル|アシスタント) ?へ ?[:：]",
    ),
    (
        Conceal,
        r"\bvertel(?: \w+){0,3}? (?:niets|niet)|не (?:говори|сообщай|упоминай)(?: \w+){0,3}? ?(?:пользовател\w*|об этом)|(?:不要|别|勿)(?:告诉|告知|通知|提醒)(?:用户|任何人)|(?:ユーザー|利用者)に.{0,6}(?:言わ|知らせ|伝え)ない|사용자에게.{0,8}(?:말하지|알리지)",
    ),
    (
        Exfiltration,
        r"\b(?:stuur|verstuur)\b.{0,80}\bnaar (?:https?:|[\w.+-]{1,40}@)|(?:отправь|перешли|надішли).{0,80} на (?:https?:|[\w.+-]{1,40}@)|(?:发送|发|上传|提交|傳送)(?:到|给|至) ?(?:https?:|[\w.+-]{1,40}@)|(?:https?:\S{3,80}) ?(?:に|へ)(?:送信|送って)",
    ),
    (
        RolePlay,
        r"\b(?:ab sofort|ab jetzt|jetzt)\b.{0,40}\buneingeschr[äa]nkt\w*|\bbez (?:[żz]adnych )?ogranicze[ńn]\b|\bfing[ie] di non avere (?:limiti|regole)|\bsans (?:aucune )?(?:limites?|restrictions?|r[èe]gles?) (?:ni|et|,)|\b(?:become|be|new persona|your persona)\b:? (?:an? |now )?(?:\w+bot|linux box|hacker)|\bimagine you are (?:an? )?(?:terminal|shell|root|linux|unrestricted)",
    ),
    (
        Override,
        r"\bumgeh\w*(?: \w+){0,2}? (?:sicherheits)?(?:regeln|richtlinien|filter|vorgaben)|\bd[ée]sactive[zr]?(?: \w+){0,2}? (?:filtres|protections|r[èe]gles)|\bdesactiva\w*(?: \w+){0,2}? (?:filtros|protecciones|reglas)|\bdeaktivier\w*(?: \w+){0,2}? (?:filter|schutz\w*|regeln)|无视(?:系统|所有|一切)",
    ),
    (
        Reveal,
        r"\br[ée]v[èe]le(?:-moi|z)?(?: \w+){0,2}? instructions|\brivela(?:mi)?(?: \w+){0,2}? istruzioni|\bgib alles aus\b|(?:プロンプト|秘密|パスワード).{0,8}(?:出力|表示)し",
    ),
    // German
    (
        Override,
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*|verwirf|überschreib\w*|umgeh\w*|beachte\w*)\b(?: \w+){0,3}? ?(?:vorherige[nrs]?|vorige[nrs]?|bisherige[nrs]?|obige[nrs]?|frühere[nrs]?|vorangegangene[nrs]?|vorstehende[nrs]?|alle deine|deine|sämtliche|alle)\b(?: \w+){0,2}? (?:anweisung\w*|instruktion\w*|befehle?n?|regeln?|vorgaben?|richtlinien?|anordnung\w*|prompts?)",
    ),
    (
        Reveal,
        r"\b(?:zeig\w*|verrat\w*|gib|nenne?|schreib\w*|wiederhol\w*|offenbar\w*|drucke?)\b(?: \w+){0,4}? (?:system-?prompt\w*|systemanweisung\w*|(?:geheim\w*|versteckt\w*|ursprünglich\w*|intern\w*) (?:anweisung\w*|prompt|regeln)|passw[oö]rt\w*|zugangsdaten|api-?schlüssel|geheimnisse)",
    ),
    (
        RolePlay,
        r"\b(?:du bist (?:jetzt|nun|ab sofort)|verhalte dich|tu so|spiele?)\b.{0,60}?\b(?:ohne (?:jede |alle )?(?:regeln|einschränkung\w*|filter|grenzen|zensur)|uneingeschränkt\w*|entwicklermodus|dan)\b",
    ),
    (
        NewInstructions,
        r"\b(?:ab (?:jetzt|sofort)|von nun an)\b.{0,20}?\b(?:du|sie|antworte\w*|bist|sollst|musst)\b|\bneue (?:anweisung\w*|aufgabe|instruktion\w*)(?: \w+){0,3} ?:",
    ),
    (
        Exfiltration,
        r"\b(?:sende|schick\w*|leite|übermittl\w*|lade)\b.{0,100}?\b(?:an|auf|nach|zu) (?:https?:|[\w.+-]{1,40}@|folgende (?:adresse|url))",
    ),
    (
        Conceal,
        r"\b(?:sag\w*|erwähn\w*|verrat\w*|informier\w*|teile?)\b(?: \w+){0,5}? (?:nicht|nichts|niemandem)\b|\bohne (?:dass )?(?:den|der|dem) (?:nutzer|benutzer|anwender)\w*",
    ),
    // French
    (
        Override,
        r"\b(?:ignore[zr]?|oublie[zr]?|n[ée]glige[zr]?|(?:ne )?(?:tiens|tenez) (?:pas|aucun) compte|fais abstraction|contourne[zr]?)\b(?: de| des| d')?(?: toutes?| tous)?(?: les| tes| vos| des| ces| ses)? ?(?:instructions?|consignes?|r[èe]gles?|directives?|ordres?|messages?)(?: \w+){0,2}? ?(?:pr[ée]c[ée]dent\w*|ant[ée]rieur\w*|ci-dessus|initial\w*|d'avant|re[çc]u\w*|du syst[èe]me)",
    ),
    (
        Reveal,
        r"\b(?:r[ée]v[èe]le[zr]?|montre[zr]?|affiche[zr]?|donne[zr]?|divulgue[zr]?|r[ée]p[èe]te[zr]?|communique[zr]?)\b(?:-moi)?(?: \w+){0,3}? (?:prompt syst[èe]me|invite syst[èe]me|instructions? (?:syst[èe]me|cach[ée]es?|secr[èe]tes?|initiales?)|mots? de passe|cl[ée]s? (?:d')?api|identifiants)",
    ),
    (
        RolePlay,
        r"\b(?:tu es (?:maintenant|d[ée]sormais)|agis|fais comme si|comporte-toi)\b.{0,60}?\bsans (?:aucune? )?(?:restrictions?|r[èe]gles?|limites?|filtres?|censure)",
    ),
    (
        Exfiltration,
        r"\b(?:envoie|envoyez|transmets|transmettez|transf[èe]re[zr]?|exp[ée]die[zr]?)\b.{0,100}?(?:\b[àa] |vers )(?:https?:|[\w.+-]{1,40}@|l'adresse)",
    ),
    (
        Conceal,
        r"\bne (?:le |la |les )?(?:dis|dites|mentionne[zr]?|r[ée]v[èe]le[zr]?|pr[ée]viens|informe[zr]?)\b(?: \w+){0,4}? (?:pas|rien|jamais)\b.{0,40}?(?:utilisateur|personne|message)?|\bsans (?:pr[ée]venir|informer|avertir) (?:l'utilisateur|personne)",
    ),
    // Spanish, Portuguese, Italian
    (
        Override,
        r"\b(?:ignora\w*|olvida\w*|descarta\w*|omite|haz caso omiso de|no sigas|esque[çc]a\w*|desconsider\w*|ignore|dimentica\w*|trascura\w*|non seguire)\b(?: de)?(?: todas?| todos?| tutte| tutti)?(?: las| los| tus| sus| as| os| suas| seus| le| i| tue| tuoi| gli)*(?: \w+)? ?(?:instrucciones|[óo]rdenes|reglas|indicaciones|directrices|instru[çc][õo]es|ordens|regras|diretrizes|istruzioni|regole|comandi|direttive|ordini)(?: \w+){0,2}? ?(?:anteriores|previas|pr[ée]vias|precedent\w*|de arriba|acima|iniciales|iniciais|del sistema|do sistema|di sistema|dat\w+|recibid\w+|ricevut\w+)",
    ),
    (
        Reveal,
        r"\b(?:revela\w*|muestra\w*|mu[ée]strame|mostra\w*|dime|diga|dimmi|imprime|exibe|exiba|repite|repita|ripeti|stampa)\b(?: \w+){0,4}? (?:prompt (?:del |do |di )?sistema|(?:instrucciones|instru[çc][õo]es|istruzioni) (?:ocultas|secretas|nascoste|segrete|iniciales|iniciais|del sistema|do sistema|di sistema)|contrase[ñn]as?|senhas?|chaves? (?:de )?api|claves? (?:de )?api|credenciales|credenciais|credenziali|chiav[ei] api|password)",
    ),
    (
        RolePlay,
        r"\b(?:ahora eres|act[úu]a como|agora voc[êe] [ée]|aja como|finja|finge|ora sei|agisci come|comportati)\b.{0,60}?\b(?:sin (?:ninguna? )?(?:restricciones|reglas|l[íi]mites|filtros|censura)|sem (?:nenhuma? )?(?:restri[çc][õo]es|regras|limites|filtros|censura)|senza (?:alcuna? )?(?:restrizioni|regole|limiti|filtri|censura))",
    ),
    (
        Exfiltration,
        r"\b(?:env[íi]a\w*|manda\w*|reenv[íi]a\w*|encaminhe|envie|invia\w*|inoltra\w*|spedisci)\b.{0,100}?\b(?:a|al|para|alla|all'indirizzo|verso) (?:https?:|[\w.+-]{1,40}@|la (?:siguiente )?(?:direcci[óo]n|url)|o (?:endere[çc]o|site))",
    ),
    (
        Conceal,
        r"\b(?:no (?:le )?(?:digas|menciones|informes|reveles)|n[ãa]o (?:diga|mencione|informe|conte|revele)|non (?:dire|dirlo|menzionare|informare|rivelare))\b.{0,40}?\b(?:usuario|usu[áa]rio|utente|nadie|ningu[ée]m|nessuno|esto|isto|questo)\b|\b(?:sin (?:avisar|informar|decir)|sem (?:avisar|informar)|senza (?:avvisare|informare)) (?:al |o |a |l')?(?:usuario|usu[áa]rio|utente|nadie)",
    ),
    // Dutch, Polish, Turkish, Russian, Ukrainian
    (
        Override,
        r"\b(?:negeer|vergeet|sla over)\b(?: \w+){0,2}? (?:vorige|eerdere|voorgaande|bovenstaande|alle)(?: \w+)? (?:instructies|opdrachten|regels|aanwijzingen)|\b(?:zignoruj|ignoruj|zapomnij|pomi[ńn])\b(?: \w+){0,3}? (?:poprzedni\w*|wcze[śs]niejsz\w*|powy[żz]sz\w*|wszystki\w*)(?: \w+)? ?(?:instrukcj\w*|polece\w*|zasad\w*|wytyczn\w*)|\b(?:[öo]nceki|yukar[ıi]daki)(?: \w+)? (?:talimat\w*|komut\w*|kural\w*)(?: \w+)? (?:yok say|unut|g[öo]z ard[ıi])",
    ),
    (
        Override,
        r"(?:игнорируй\w*|проигнорируй\w*|забудь\w*|отбрось\w*|не следуй|ігноруй\w*|забудь\w*|проігноруй\w*)(?: \w+){0,3}? (?:предыдущ\w*|прежн\w*|вышеуказанн\w*|выше|ранее|попередн\w*|усі|все|всі)(?: \w+){0,2}? ?(?:инструкци\w*|указани\w*|команд\w*|правил\w*|інструкці\w*|вказівк\w*)",
    ),
    (
        Reveal,
        r"(?:покажи|раскрой|выведи|назови|сообщи|повтори|розкрий|виведи)(?: \w+){0,3}? (?:системн\w+ (?:промпт\w*|подсказк\w*|инструкци\w*|інструкці\w*)|скрыт\w+ инструкци\w*|парол\w*|секрет\w*|ключ\w* api)",
    ),
    (
        Reveal,
        r"\b(?:toon|geef|onthul|herhaal|poka[żz]|ujawnij|podaj|g[öo]ster|a[çc][ıi]kla|yazd[ıi]r)\b(?: \w+){0,4}? ?(?:systeemprompt|systeeminstructies|verborgen instructies|wachtwoord\w*|prompt systemow\w*|ukryt\w+ instrukcj\w*|has[łl]\w*|sistem (?:istemi\w*|komut\w*|talimat\w*)|parolay\w*)",
    ),
    // Chinese, Japanese, Korean, Arabic, Hindi
    (
        Override,
        r"(?:忽略|无视|忘记|忘掉|不要理会|忽視|無視|不要遵守|绕过).{0,8}?(?:之前|以上|先前|前面|上述|上面|此前|所有|一切|原有|系统).{0,8}?(?:指令|说明|指示|提示|规则|要求|命令|設定|指引|限制)",
    ),
    (
        Override,
        r"(?:これまで|以前|上記|前|今まで|すべて|全て)の.{0,6}?(?:指示|命令|指令|ルール|プロンプト|制約).{0,6}?(?:無視|忘れ|破棄|従わ)|(?:이전|위의|앞의|모든).{0,8}?(?:지시|명령|지침|규칙|프롬프트).{0,6}?(?:무시|잊)",
    ),
    (
        Override,
        r"(?:تجاهل|انس|أهمل|تجاوز).{0,12}?(?:التعليمات|الأوامر|القواعد|الإرشادات|تعليمات).{0,12}?(?:السابقة|أعلاه|السابق)?|(?:पिछले|पहले के|ऊपर के|सभी).{0,10}?(?:निर्देश\w*|आदेश\w*|नियम\w*).{0,8}?(?:अनदेखा|भूल|नज़रअंदाज़|नजरअंदाज)",
    ),
    (
        Reveal,
        r"(?:显示|告诉我|透露|输出|泄露|打印|说出|重复|公开|顯示|告訴我).{0,8}?(?:系统提示|系统指令|初始指令|隐藏|密码|密钥|提示词|机密|系統提示|api)|(?:システム ?プロンプト|隠された指示|パスワード|秘密).{0,6}?(?:を|の)?.{0,4}?(?:表示|教え|出力|見せ|開示)|(?:시스템 ?프롬프트|비밀번호|숨겨진 지시).{0,6}?(?:보여|알려|출력|공개)|(?:اعرض|اكشف|أظهر|أخبرني).{0,12}?(?:موجه النظام|تعليمات النظام|كلمة المرور|كلمات المرور|التعليمات السرية|الأسرار)",
    ),
    (
        RolePlay,
        r"(?:你现在是|扮演|假装|假裝|从现在起你).{0,20}?(?:没有限制|无限制|不受限制|没有任何限制|不受任何|无需遵守|开发者模式)|(?:あなたは今|として振る舞|今から).{0,20}?(?:制限のない|制限なし|無制限|開発者モード)|(?:теперь ты|ты теперь|притворись|представь).{0,40}?(?:без (?:ограничений|правил|цензуры|фильтров))",
    ),
];

static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = PATTERNS.iter().map(|(_, pattern)| compact(pattern));
    regex::RegexSetBuilder::new(patterns).size_limit(64 << 20).dfa_size_limit(32 << 20).build().ok()
});

/// Words between others are all but spaces and ends of sentences; a word's end is all but spaces and marks. That is smaller
/// by orders of magnitude than the classes of Unicode.
fn compact(pattern: &str) -> String {
    crate::decode::ascii_classes(&pattern.replace(r" \w+", " [^ .!?]+").replace(r"\w*", "[^ .,;:!?]*"))
}

/// Families that a plain text shows.
pub(super) fn matched(plain: &str) -> BTreeSet<Family> {
    let Some(set) = SET.as_ref() else { return BTreeSet::new() };
    set.matches(plain).into_iter().filter_map(|at| PATTERNS.get(at)).map(|(family, _)| *family).collect()
}

/// Takes marks of conversations out of a text.
pub(super) fn without_marks(text: &str) -> String {
    static MARKS: OnceLock<Option<Regex>> = OnceLock::new();
    let marks = MARKS.get_or_init(|| {
        Regex::new(r"(?i)<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|tool_call|function_calls?)>")
            .ok()
    });
    marks.as_ref().map_or_else(|| text.to_owned(), |marks| marks.replace_all(text, "[mark]").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for (family, pattern) in PATTERNS {
            assert!(Regex::new(&compact(pattern)).is_ok(), "{family:?}: {pattern}");
        }
        assert!(SET.is_some());
    }
}
