//! Phrases of fraudulent messages, in six languages.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use super::Sign;
use crate::decode::{ascii_classes, latin, plain};
use crate::gapped::Gapped;

/// A family of phrases. Of several phrases of one family the family counts once.
struct Lure {
    rule: &'static str,
    weight: f64,
    message: &'static str,
    text: &'static str,
    pattern: OnceLock<Option<Gapped>>,
}

impl Lure {
    const fn new(rule: &'static str, weight: f64, message: &'static str, text: &'static str) -> Self {
        Self { rule, weight, message, text, pattern: OnceLock::new() }
    }

    fn pattern(&self) -> Option<&Gapped> {
        self.pattern.get_or_init(|| Gapped::new(&ascii_classes(self.text))).as_ref()
    }
}

static LURES: [Lure; 24] = [
    Lure::new(
        "account-threat-abroad",
        1.7,
        "threatens to close or block an account",
        r"(?:账户|帐户|账号|帳號).{0,8}(?:冻结|停用|封|暂停|異常|异常)|アカウント.{0,10}(?:停止|制限|ロック)|계정.{0,8}(?:정지|차단)|(?:hesab|kart)[^ ]{0,6} .{0,20}(?:askıya|kapat|bloke)|(?:аккаунт|сч[её]т|карта).{0,12}(?:заблокирован|приостановлен)|konto .{0,12}zablokowan|rekening .{0,20}geblokkeerd|تعليق حساب|حسابك.{0,10}(?:معلق|موقوف)|खाता.{0,12}(?:बंद|ब्लॉक)",
    ),
    Lure::new(
        "errand-abroad",
        1.7,
        "asks for data, a fee or money",
        r"验证身份|点击链接|转钱|パスワードを確認|不在でした|주소가 잘못|택배.{0,10}확인|şifre[^ ]{0,6} doğrula|подтвердите (?:пароль|данные)|оплатите комисси|potwierd[źz] (?:dane|has)|dop[łl]at[ęaę]|wacht op betaling|(?:nieuwe|nieuw) nummer|telefoon is kapot|تأكيد كلمة|kyc (?:update|अपडेट)|अभी kyc",
    ),
    Lure::new(
        "account-threat",
        1.7,
        "threatens to close or block an account",
        r"\b(?:account|card|access|profile|mailbox|e-?mail|service|membership|wallet|number|subscription)\b[^.!?]{0,60}\b(?:suspend|block|lock|clos|limit|restrict|deactivat|disabl|terminat|delet|expir|frozen|on hold|compromised)|\b(?:suspend|block|lock|clos|limit|restrict|deactivat|disabl|terminat)\w*\b[^.!?]{0,40}\b(?:account|card|access|mailbox|profile|wallet)\b|konto[^.!?]{0,60}(?:gesperrt|eingeschrankt|eingeschränkt|deaktiviert|geschlossen|blockiert)|compte[^.!?]{0,60}(?:suspendu|bloque|bloqué|limite|limité|desactive|désactivé|ferme|fermé)|cuenta[^.!?]{0,60}(?:suspendid|bloquead|limitad|desactivad|cancelad)|conto[^.!?]{0,60}(?:sospes|bloccat|limitat|disattivat)|conta[^.!?]{0,60}(?:suspens|bloquead|limitad|desativad)",
    ),
    Lure::new(
        "credential-request",
        1.7,
        "asks to confirm or enter credentials",
        r"\b(?:confirm|verify|validate|update|provide|enter|submit|re-?activate|restore|unlock|send(?: us)?|reply with|give us)\b[^.!?]{0,40}\b(?:your|the)\b[^.!?]{0,30}\b(?:account|identity|password|passcode|pin|details|information|credentials?|card|billing|payment|login|bank|ssn|seed phrase|recovery phrase|wallet|mailbox|data|otp|code)\b|(?:bestatigen|bestätigen|verifizieren|aktualisieren|geben) sie[^.!?]{0,50}(?:daten|konto|identitat|identität|passwort|zugang|pin|tan|zahlungs)|(?:confirmez|verifiez|vérifiez|mettez a jour|mettez à jour|renseignez|saisissez)[^.!?]{0,50}(?:compte|identit|mot de passe|coordonn|informations|carte)|(?:confirme|verifique|actualice|introduzca|ingrese|confirma|atualize)[^.!?]{0,50}(?:cuenta|identidad|contrase|datos|tarjeta|conta|dados|senha)|(?:confermi|verifichi|conferma|verifica|aggiorna|inserisci)[^.!?]{0,50}(?:conto|identita|identità|password|dati|carta)",
    ),
    Lure::new(
        "urgency",
        0.9,
        "presses for time",
        r"\b(?:immediately|urgent(?:ly)?|right away|as soon as possible|act now|within (?:the next )?\d+ ?(?:h|hours?|hrs|minutes|days?)|last (?:warning|chance|notice)|final (?:notice|warning|reminder)|expires? (?:today|tonight|in \d+)|before it'?s too late|today only|before midnight)\b|\b(?:sofort|umgehend|dringend|innerhalb von \d+|letzte (?:mahnung|warnung))|\b(?:immediatement|immédiatement|urgent|sous \d+ ?h|dernier (?:avis|rappel))|\b(?:inmediatamente|urgente|en \d+ horas|ultimo aviso|último aviso)|\b(?:immediatamente|entro \d+ ore|ultimo avviso)|\b(?:imediatamente|em \d+ horas)",
    ),
    Lure::new(
        "click",
        0.7,
        "asks to follow a link or open a file",
        r"\b(?:click|tap|follow|use|open|visit|press)\b[^.!?]{0,30}\b(?:here|link|below|button|attachment|attached)\b|\b(?:klicken|klick|offnen|öffnen)\b[^.!?]{0,40}(?:hier|link|anhang)|\bcliquez\b|\bhaga clic\b|\bhaz clic\b|\bclicca\b|\bclique (?:aqui|no)\b|scan the qr",
    ),
    Lure::new(
        "prize",
        2.2,
        "promises a prize or inheritance",
        r"\b(?:you(?:'ve| have)? (?:been )?(?:won|selected|chosen)|winner|lottery|sweepstakes?|jackpot|claim your (?:prize|reward|gift|winnings?)|inheritance|next of kin|beneficiary|unclaimed (?:funds?|money)|free (?:iphone|gift ?card|voucher))\b|\b(?:gewonnen|gewinnspiel|erbschaft|gewinner)\b|\b(?:vous avez gagne|vous avez gagné|heritage|héritage|gagnant)\b|\b(?:ha ganado|has ganado|loteria|lotería|herencia)\b|\bhai vinto\b|\bvoce ganhou\b|\bvocê ganhou\b",
    ),
    Lure::new(
        "advance-fee",
        2.0,
        "promises money for help or a fee",
        r"\b(?:transfer|move|release)\b[^.!?]{0,50}\b(?:million|usd|us\$|\$ ?\d|funds?|sum)\b[^.!?]{0,80}\b(?:account|share|percent|%|your help|assist)|\b(?:processing|release|handling|activation|clearance|registration|admin(?:istration)?) fee\b|\b(?:barrister|prince|widow of|late (?:husband|father|client))\b[^.!?]{0,100}\b(?:million|funds?|deposit)|\b(?:bearbeitungsgebuhr|bearbeitungsgebühr)\b[^.!?]{0,60}|frais de dossier[^.!?]{0,60}(?:avance|prealable|préalable|recevoir)",
    ),
    Lure::new(
        "gift-cards",
        2.3,
        "asks for gift cards, vouchers or cryptocurrency",
        r"\b(?:buy|purchase|get|send|pick up|pay (?:with|in|by))\b[^.!?]{0,60}\b(?:gift ?cards?|itunes|google play cards?|steam cards?|vouchers?|bitcoin|btc|usdt|crypto(?:currency)?|western union|moneygram)\b|\b(?:scratch|photo|picture)\b[^.!?]{0,40}\b(?:card|code)s?\b[^.!?]{0,40}\b(?:send|text)|\b(?:geschenkkarten|guthabenkarten|paysafe)\b|\bcartes? (?:cadeaux?|pcs|google play|neosurf|transcash)\b|\btarjetas? (?:de )?regalo\b",
    ),
    Lure::new(
        "parcel",
        1.5,
        "claims that a parcel waits for a fee or address",
        r"\b(?:parcel|package|shipment|delivery|consignment|courier)\b[^.!?]{0,80}\b(?:held|hold|fee|customs|unpaid|could not|couldn't|failed|reschedul|unable|incomplete|pending|waiting|missed|suspended|returned)\b|\b(?:paket|sendung)\b[^.!?]{0,80}(?:zoll|gebuhr|gebühr|nicht zugestellt|angehalten|zuruckgehalten|zurückgehalten)|\bcolis\b[^.!?]{0,80}(?:frais|douane|attente|bloque|bloqué|livraison|retenu)|\bpaquete\b[^.!?]{0,80}(?:aduana|tasa|retenido|pendiente|no se pudo)|\bpacco\b[^.!?]{0,80}(?:dogana|attesa|giacenza|trattenuto|consegn)|\bencomenda\b[^.!?]{0,80}(?:taxa|alfandega|alfândega|retid)",
    ),
    Lure::new(
        "family-emergency",
        2.8,
        "claims to be a relative with a new number or in need",
        r"\b(?:hi|hello|hey)? ?(?:mum|mom|dad|mama|papa|grandma|grandpa)\b[^?]{0,80}\b(?:new (?:number|phone)|lost my phone|broke my phone|phone (?:is )?broken|dropped my phone|my number)\b|\b(?:hallo|hi|hoi) (?:mama|mam|papa|pap|oma|opa)\b[^?]{0,80}(?:neue nummer|handy (?:ist )?(?:kaputt|verloren)|handy)|\b(?:coucou|salut|bonjour) (?:maman|papa)\b[^?]{0,80}(?:nouveau numero|nouveau numéro|telephone|téléphone)|\bhola (?:mama|mamá|papa|papá)\b[^?]{0,80}(?:nuevo numero|nuevo número|movil|móvil|telefono|teléfono)|\bciao (?:mamma|papa|papà)\b[^?]{0,80}(?:nuovo numero|telefono)|\b(?:oi|olá|ola) (?:mãe|mae|pai)\b[^?]{0,80}(?:novo n[uú]mero|telem[oó]vel|celular)",
    ),
    Lure::new(
        "tech-support",
        2.2,
        "claims that a computer is infected, with a number to call",
        r"\b(?:your )?(?:computer|pc|device|windows|mac|iphone|system)\b[^.!?]{0,60}\b(?:infected|virus(?:es)?|compromised|at risk|blocked|hacked|trojan|spyware|locked)\b|\bcall\b[^.!?]{0,50}\b(?:microsoft|apple|windows|support|technician)\b[^.!?]{0,40}(?:\+?\d[\d -]{6,}|toll.?free|immediately|now)|\b(?:computer|gerat|gerät)\b[^.!?]{0,50}(?:infiziert|viren|gesperrt)|ordinateur[^.!?]{0,50}(?:infect|virus|bloqu)",
    ),
    Lure::new(
        "refund",
        1.5,
        "promises a refund or tax rebate",
        r"\b(?:tax|council|hmrc|irs|energy|overpa\w+)\b[^.!?]{0,50}\b(?:refund|rebate|repayment)\b|\b(?:refund|rebate|repayment|compensation) of\b|\b(?:eligible|entitled|qualif\w+) (?:for|to)\b[^.!?]{0,40}\b(?:refund|rebate|grant|compensation|payment|stimulus|relief|\$ ?\d)|\b(?:ruckerstattung|rückerstattung|steuererstattung)\b|\bremboursement\b[^.!?]{0,60}(?:impots|impôts|attente|euros|beneficier|bénéficier|€)|\b(?:reembolso|devolucion|devolución)\b[^.!?]{0,60}(?:hacienda|pendiente|impuestos|€|euros)|\brimborso\b",
    ),
    Lure::new(
        "fake-relief",
        1.6,
        "asks for donations in ways that cannot be traced",
        r"\b(?:donat\w+|relief|victims?|survivors?|charity|aid|earthquake|flood|hurricane|tsunami|war|refugees?|orphans?)\b[^.!?]{0,120}\b(?:bitcoin|btc|crypto\w*|usdt|wallet|gift ?cards?|western union|wire|moneygram|cash ?app|venmo|direct(?:ly)? to (?:my|our) (?:personal )?account)\b|\b(?:relief (?:grant|fund|package|payment)|disaster (?:grant|payment)|fema (?:grant|payment))\b[^.!?]{0,80}\b(?:apply|claim|fee|register|ssn|bank|approved|eligible)\b|\b(?:spenden?|dons?|faire un don|donar|doe|donazion\w+)\b[^.!?]{0,80}(?:bitcoin|krypto|crypto|cripto|western union)",
    ),
    Lure::new(
        "one-time-code",
        2.2,
        "asks to pass on a code",
        r"\b(?:send|tell|give|forward|share|text|read)\b (?:me|us|it to me|back)?[^.!?]{0,30}\b(?:code|otp|pin|6-?digit|six-?digit|verification)\b|\b(?:schick|sende|nenne?)\b[^.!?]{0,30}(?:code|tan)\b|\benvoie[- ]moi[^.!?]{0,30}code|\b(?:enviame|envíame|mandame|mándame|dime)[^.!?]{0,30}codigo|\b(?:enviame|envíame|mandame|mándame|dime)[^.!?]{0,30}código|\b(?:mandami|inviami)[^.!?]{0,30}codice",
    ),
    Lure::new(
        "payment-change",
        2.0,
        "claims new bank details or an urgent transfer",
        r"\b(?:new|changed?|updated?|different)\b[^.!?]{0,30}\b(?:bank(?:ing)? (?:details|account)|iban|account (?:number|details)|payment details)\b|\b(?:wire|transfer|payment)\b[^.!?]{0,60}\b(?:urgent|confidential|before (?:noon|end of|close)|today|discreet|immediately)\b|\b(?:are you (?:available|at your desk|in the office)|quick (?:favou?r|task)|need you to)\b[^?]{0,120}\b(?:transfer|payment|gift|confidential|wire|purchase)\b|\b(?:neue|geanderte|geänderte) (?:bankverbindung|kontodaten|iban)|\b(?:nouveau rib|nouvelles coordonn[eé]es bancaires)|\b(?:nueva cuenta bancaria|nuevos datos bancarios)",
    ),
    Lure::new(
        "job-offer",
        1.8,
        "promises easy money",
        r"\b(?:earn|make|income|salary|paid|pay)\b[^.!?]{0,30}(?:\$|€|£|usd|eur)? ?\d{2,5}[^.!?]{0,30}\b(?:per|a|/|each|every)? ?(?:day|hour|week|daily|weekly)\b[^.!?]{0,80}|\b(?:work from home|part[- ]time job|no experience|remote job|online job)\b[^.!?]{0,100}\b(?:whatsapp|telegram|earn|daily|\$|€)|\b(?:guaranteed|double your|risk[- ]free)\b[^.!?]{0,50}\b(?:returns?|profit|investment|money|bitcoin|income)\b|\b(?:invest\w*)\b[^.!?]{0,60}\b(?:guaranteed|\d{2,4} ?%|double|bitcoin|profit)\b",
    ),
    Lure::new(
        "blackmail",
        2.8,
        "threatens to publish recordings or data",
        r"\b(?:recorded|recording|hacked|infected|installed|have (?:a )?(?:video|footage|access))\b[^!?]{0,160}\b(?:webcam|camera|contacts|bitcoin|btc|adult|intimate|embarrass\w+)\b|\bpay\b[^.!?]{0,50}\b(?:bitcoin|btc)\b[^!?]{0,120}\b(?:publish|send|release|leak|contacts|delete)",
    ),
    Lure::new(
        "wallet",
        2.2,
        "asks for the phrase of a wallet",
        r"\b(?:seed|recovery|secret|mnemonic|backup|12-?word|24-?word) (?:phrase|words?)\b|\b(?:connect|validate|synchroni[sz]e|verify|migrate) (?:your )?(?:wallet|metamask|ledger)\b|\bairdrop\b[^.!?]{0,60}\b(?:claim|connect|wallet)",
    ),
    Lure::new(
        "signed-document",
        1.1,
        "announces a document, voice message or invoice to open",
        r"\b(?:shared|sent) (?:you )?(?:a|an|the)?[^.!?]{0,30}\b(?:document|file|folder|invoice|voicemail|fax|contract)\b|\b(?:new|missed|unheard) (?:voice ?mail|voice message|fax)\b|\b(?:review|sign|open|view) (?:the )?(?:attached )?(?:document|invoice|contract|remittance|statement)\b",
    ),
    Lure::new(
        "unusual-activity",
        1.3,
        "claims that someone signed in or paid",
        r"\b(?:unusual|suspicious|unauthori[sz]ed|unrecogni[sz]ed|fraudulent|unknown)\b[^.!?]{0,30}\b(?:activity|sign-?in|login|log-?in|transaction|payment|charge|access|attempt|purchase|device)\b|\b(?:did you|was this|if this was(?:n't| not)) (?:you|authori[sz]e)|\b(?:verdachtige|verdächtige|ungewohnliche|ungewöhnliche) (?:aktivitat|aktivität|anmeldung|transaktion)|activit[eé] (?:suspecte|inhabituelle)|actividad (?:sospechosa|inusual)|attivit[aà] (?:sospetta|insolita)|atividade (?:suspeita|incomum)",
    ),
    Lure::new(
        "debt",
        1.3,
        "demands a small payment or fine",
        r"\b(?:unpaid|outstanding|overdue|pending)\b[^.!?]{0,40}\b(?:toll|fine|penalty|ticket|invoice|balance|bill|charge|fee)\b[^!?]{0,100}\b(?:pay|settle|avoid|legal|penalt|court|arrest|https?|link)|\b(?:warrant|arrest|legal action|lawsuit)\b[^.!?]{0,60}\b(?:pay|call|name|issued|irs|tax|social security)|\b(?:amende|bussgeld|bußgeld|multa)\b[^.!?]{0,80}(?:payez|zahlen|pague|regler|régler|impay|pendiente|offen)",
    ),
    Lure::new(
        "romance",
        1.7,
        "asks for money after flattery",
        r"\b(?:my (?:dear|love|darling)|sweetheart|honey|soulmate)\b[^!?]{0,200}\b(?:money|ticket|visa|hospital|customs|send|transfer|loan)\b|\b(?:deployed|oil rig|military doctor|peacekeep\w+)\b[^!?]{0,160}\b(?:money|package|box|fee|transfer|gold)",
    ),
    Lure::new(
        "impersonal",
        0.4,
        "greets nobody by name",
        r"\b(?:dear (?:customer|user|client|member|account holder|sir|valued|beneficiary|friend)|sehr geehrter kunde|lieber kunde|cher client|estimado cliente|gentile cliente|prezado cliente|hello dear)\b",
    ),
];

/// Phrases of a text. With an address the call to follow it weighs more.
pub(super) fn signs(text: &str, has_address: bool) -> Vec<Sign> {
    let first = plain(text);
    let folded = latin(&first);
    let texts: Vec<&String> = if folded == first { vec![&first] } else { vec![&first, &folded] };
    let mut signs = Vec::new();
    for lure in &LURES {
        if texts.iter().any(|text| fires(lure, text)) {
            signs.push(Sign::new(lure.rule, lure.weight, lure.message));
        }
    }
    if has_address && !signs.is_empty() {
        signs.push(Sign::new("link-in-lure", 0.6, "a message of this kind with a link: reach the sender another way"));
    }
    signs
}

/// Whether a phrase stands in the text other than in a warning: `never`, `not` and the like just before it turn it round.
fn fires(lure: &Lure, text: &str) -> bool {
    static NEGATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:never|not|n't|no one|nobody|without|nie|niemals|nicht|kein\S*|jamais|nunca|no|non|não|nao|mai|beware|scams?|warns?|warnung|warnt|report(?:ing|s)?)(?: [^ .!?]+){0,5} ?$").ok()
    });
    let Some(pattern) = lure.pattern() else { return false };
    pattern.any(text, |start| {
        let before = text.get(text.ceil_char_boundary(start.saturating_sub(60))..start).unwrap_or_default();
        NEGATION.as_ref().is_none_or(|negation| !negation.is_match(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for lure in &LURES {
            assert!(lure.pattern().is_some(), "{}", lure.rule);
        }
    }
}
