//! Rules: groups of attacks with patterns over decoded text in lower case.
//!
//! The groups and weights are those of the OWASP Core Rule Set; the patterns are our own. Higher levels of paranoia find
//! more, and more that is harmless.

use std::sync::OnceLock;

use regex::Regex;

/// Weight of a rule, with the points of the Core Rule Set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Critical,
    Error,
    Warning,
    Notice,
}

impl Weight {
    pub(super) const fn points(self) -> i64 {
        match self {
            Self::Critical => 5,
            Self::Error => 4,
            Self::Warning => 3,
            Self::Notice => 2,
        }
    }
}

pub(super) struct Rule {
    pub group: &'static str,
    pub name: &'static str,
    pub evidence: &'static str,
    pub weight: Weight,
    pub paranoia: u8,
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(
        paranoia: u8,
        weight: Weight,
        group: &'static str,
        name: &'static str,
        evidence: &'static str,
        text: &'static str,
    ) -> Self {
        Self { group, name, evidence, weight, paranoia, text, regex: OnceLock::new() }
    }

    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&crate::decode::ascii_classes(self.text)).ok()).as_ref()
    }

    pub(super) fn fires(&self, text: &str) -> bool {
        self.pattern().is_some_and(|pattern| pattern.is_match(text))
    }

    /// Addresses stand in some headers by design.
    pub(super) fn applies(&self, place: &str) -> bool {
        let addresses = ["header referer", "header origin", "header host", "header location"];
        !(self.group == "ssrf" && addresses.contains(&place))
    }
}

use Weight::{Critical, Error, Notice, Warning};

const SQL: &str = "sql-injection";
const XSS: &str = "cross-site-scripting";
const COMMAND: &str = "command-injection";
const PATH: &str = "path-traversal";
const SSRF: &str = "ssrf";
const TEMPLATE: &str = "template-injection";

pub(super) static RULES: [Rule; 40] = [
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a condition that is always true after a quote",
        r#"['"`)]\s*(?:or|and|\|\||&&|xor)\s+(?:not\s+)?\(?\s*['"`]?(?:(\w{1,20})['"`]?\s*(?:=|<=>|like|<|>|is)\s*['"`]?\w{1,20}|true\b|exists\s*\(|1\b)"#,
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a numeric condition that is always true",
        r"(?:=|\b\d+)\s*-?\d*\s*\)*\s+(?:or|and|\|\||&&)\s+\(*(?:0*1\s*=\s*0*1|2\s*>\s*1|1\s*<\s*2|true\b|'(\w*)'\s*=\s*'|\d+\s*=\s*\d+)",
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "UNION SELECT",
        r"\bunion\b[\s(]{1,20}(?:(?:all|distinct|distinctrow)[\s(]{1,20})?\(?\s*select\b",
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a second statement",
        r#"(?:['"`)\d]|%00)\s*;\s*(?:drop|delete|insert|update|alter|truncate|create|exec|execute|shutdown|grant|declare|select|waitfor|begin)\b[\s\[(]"#,
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a function that waits or writes files",
        r"\b(?:sleep\s*\(\s*\d+(?:\.\d+)?\s*\)|benchmark\s*\(\s*\d{4,}|pg_sleep\s*\(|waitfor\s+delay\s+'|dbms_pipe\.receive_message|load_file\s*\(|into\s+(?:out|dump)file\b|xp_cmdshell|sp_executesql|utl_http\.|extractvalue\s*\(|updatexml\s*\()",
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "the catalogue of the database",
        r"\b(?:information_schema\s*\.|sysobjects\b|syscolumns\b|pg_catalog\s*\.|sqlite_master\b|mysql\.user\b|all_tables\b.*\bselect|@@(?:version|datadir|hostname))",
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a quote and a comment",
        r#"(?:\w['"]\s*\)*\s*(?:--[\s+-]|--$|#\s*$|/\*)|^['"]\s*(?:--|#))"#,
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "a subselect after a quote or number",
        r#"(?:['"]|=\s*-?\d+)\s*(?:\+|and|or|\|\||=|<|>)?\s*\(\s*select\b.{1,200}\bfrom\b"#,
    ),
    Rule::new(
        1,
        Critical,
        SQL,
        "SQL injection",
        "ORDER BY or GROUP BY after a quote",
        r#"['"]\s*\)*\s*(?:order|group)\s+by\s+\d+"#,
    ),
    Rule::new(
        2,
        Warning,
        SQL,
        "words of SQL",
        "SELECT … FROM",
        r"\bselect\b.{1,100}\bfrom\b.{1,100}(?:\bwhere\b|--|;|$)",
    ),
    Rule::new(
        3,
        Warning,
        SQL,
        "marks of SQL",
        "a quote followed by an operator",
        r#"['"]\s*(?:=|<|>|\|\||\+)\s*['"]?"#,
    ),
    Rule::new(1, Critical, XSS, "cross-site scripting", "a script element", r"<\s*/?\s*script\b"),
    Rule::new(
        1,
        Critical,
        XSS,
        "cross-site scripting",
        "an event attribute",
        r#"<[a-z!/][^<>]{0,300}[\s/"'+]on(?:[a-z]{3,25})\s*="#,
    ),
    Rule::new(
        1,
        Critical,
        XSS,
        "cross-site scripting",
        "an event attribute that breaks out of a quote",
        r#"["'][\s/+]*\bon(?:error|load|click|mouse\w+|focus\w*|blur|key\w+|submit|change|input|toggle|animation\w+|pointer\w+|begin)\s*="#,
    ),
    Rule::new(
        1,
        Critical,
        XSS,
        "cross-site scripting",
        "a script address",
        r#"(?:javascript|vbscript|livescript)\s*:\s*[\w('"\[/]|(?:j\s*a\s*v\s*a\s*s\s*c\s*r\s*i\s*p\s*t)\s*:|data\s*:\s*text/html"#,
    ),
    Rule::new(
        1,
        Critical,
        XSS,
        "cross-site scripting",
        "an element that loads or runs",
        r"<\s*(?:iframe|embed|object|applet|base|meta|link|svg|math|form|isindex|frameset|template|marquee|video|audio|body)\b[^>]{0,300}(?:=|>|$)",
    ),
    Rule::new(
        1,
        Error,
        XSS,
        "cross-site scripting",
        "a call of scripts",
        r"\b(?:document\s*\.\s*(?:cookie|domain|write\w*|location)|window\s*\.\s*(?:location|name|open)|eval\s*\(\s*(?:atob|string\.fromcharcode|unescape)|string\.fromcharcode\s*\(|alert\s*\(\s*(?:\d|document|'|`|1))",
    ),
    Rule::new(2, Warning, XSS, "markup", "an element", r"<\s*[a-z][a-z0-9]{0,20}(?:\s[^<>]{0,200})?>"),
    Rule::new(
        1,
        Critical,
        COMMAND,
        "command injection",
        "a command after a separator",
        r"(?:;|\||\|\||&&|\n|\$\(|`|\b&)\s*(?:/(?:usr/)?s?bin/)?(?:cat|ls|id|whoami|uname|wget|curl|nc|ncat|bash|sh|zsh|python[23]?|perl|ruby|php|ping|nslookup|dig|rm|chmod|chown|echo|sleep|ifconfig|netstat|ps|type|dir|powershell|cmd|certutil|bitsadmin|net\s+user)\b(?:\s+[-/~.\w'$|>&;]|\s*[;|&)`]|\s*$)",
    ),
    Rule::new(
        1,
        Critical,
        COMMAND,
        "command injection",
        "a reverse shell",
        r"/dev/(?:tcp|udp)/|\bnc\b.{0,40}\s-[a-z]*e\b|\bbash\s+-i\b|mkfifo\s+/|socket\.socket\(.{0,200}subprocess",
    ),
    Rule::new(
        1,
        Critical,
        COMMAND,
        "command injection",
        "substitution in a shell",
        r"\$\{ifs\}|\$ifs\b|\$\(\s*(?:cat|id|whoami|curl|wget|ls|uname)\b|`\s*(?:cat|id|whoami|curl|wget|ls|uname)\b[^`]{0,100}`|\(\)\s*\{\s*:;\s*\}\s*;",
    ),
    Rule::new(
        1,
        Critical,
        COMMAND,
        "command injection",
        "a file of commands",
        r"/bin/(?:ba|z|c|k|da)?sh\b|\bcmd(?:\.exe)?\s*/c\b|powershell(?:\.exe)?\s+-(?:e|enc|encodedcommand|nop|w|c)\b",
    ),
    Rule::new(
        1,
        Critical,
        PATH,
        "path traversal",
        "steps to parent folders",
        r"(?:^|[\s/\\=:&?;'\x22(,])(?:\.\.+[/\\]+){2,}|\.\.+[/\\](?:etc|proc|windows|winnt|boot|var|usr|root|home|web-inf)\b|\.\.;/",
    ),
    Rule::new(
        1,
        Critical,
        PATH,
        "path traversal",
        "a file of the system",
        r"/etc/(?:passwd|shadow|group|hosts|sudoers|crontab|ssh/)|/proc/(?:self|\d+)/(?:environ|cmdline|fd|maps)|[a-z]:\\(?:windows|winnt|boot\.ini)|\b(?:boot|win|system)\.ini\b|web-inf/web\.xml|\.(?:htaccess|htpasswd)\b|/\.(?:git|svn|env|aws|ssh)(?:/|\b)|/wp-config\.php",
    ),
    Rule::new(
        1,
        Critical,
        PATH,
        "file inclusion",
        "a wrapper of PHP",
        r"\b(?:php|zip|phar|expect|glob|zlib|ssh2|rar|ogg)://(?:filter|input|stdin|memory|\w)",
    ),
    Rule::new(2, Warning, PATH, "path traversal", "a step to the parent folder", r"(?:^|[/\\=])\.\.[/\\]"),
    Rule::new(
        1,
        Critical,
        SSRF,
        "server-side request forgery",
        "an address of the cloud's metadata",
        r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254|/latest/meta-data|0xa9fea9fe|2852039166|instance-data\b",
    ),
    Rule::new(
        1,
        Error,
        SSRF,
        "server-side request forgery",
        "an address within the network",
        r"=\s*(?:https?|ftp|gopher|dict|ldaps?|tftp|file|jar|netdoc)(?:://|:/)(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[?::1|\[?::ffff:|0x7f|2130706433|0177\.)",
    ),
    Rule::new(
        1,
        Critical,
        SSRF,
        "server-side request forgery",
        "a scheme that a client does not send",
        r"=\s*(?:gopher|dict|file|jar|netdoc|tftp|ldaps?)://",
    ),
    Rule::new(
        1,
        Critical,
        TEMPLATE,
        "template injection",
        "an expression of a template",
        r#"(?:\{\{|\$\{|#\{|<%=?|\{%|\*\{|@\()\s*(?:\d+\s*[*+]\s*'?\d+|[^}%]{0,120}(?:__class__|__globals__|__mro__|__subclasses__|__import__|self\.|config\b|request\.|lipsum|cycler|constructor|runtime|getruntime|processbuilder|system\(|exec\(|freemarker|t\(java|java\.lang|new\s+java|class\.for))"#,
    ),
    Rule::new(
        1,
        Critical,
        "jndi-injection",
        "a look-up of Log4j (CVE-2021-44228)",
        "a look-up within ${…}",
        r"\$\{\s*(?:jndi|(?:[^}]{0,40}\$?\{[^}]{0,40}:-?[jndi]{1,4}\}?){1,4}[^}]{0,40})\s*:?|\$\{(?:lower|upper|env|sys|date|::-)[^}]{0,60}\}[^\s]{0,60}(?:ldap|rmi|dns|iiop|nis|corba)|\$\{jndi:",
    ),
    Rule::new(
        1,
        Critical,
        "xml-entity",
        "XML external entity",
        "an entity or document type with an address",
        r"<!(?:entity|doctype)\b[^>]{0,300}(?:system|public)\b|<!entity\s+%|xmlns:xi\s*=|<xi:include",
    ),
    Rule::new(
        1,
        Critical,
        "header-injection",
        "splitting of a response",
        "a line end and a header",
        r"[\r\n]+\s*(?:set-cookie|location|content-type|content-length|http/[012]|x-[a-z-]{3,20})\s*:?\s",
    ),
    Rule::new(
        1,
        Critical,
        "nosql-injection",
        "NoSQL injection",
        "an operator in place of a value",
        r#"\[\s*\$(?:ne|gt|lt|gte|lte|regex|where|in|nin|exists|or|and|not)\s*\]|["']\s*\$(?:ne|gt|lt|gte|lte|regex|where|in|nin|exists|or|and|not|expr|function)["']\s*:|\$where\s*[:=]"#,
    ),
    Rule::new(
        1,
        Critical,
        "ldap-injection",
        "LDAP injection",
        "a filter after a parenthesis",
        r"\*\s*\)\s*\(\s*[|&!(]|\)\s*\(\s*[|&]\s*\(|\*\)\s*\(\s*(?:uid|cn|mail|objectclass)\s*=|\)\s*\(\s*(?:cn|uid|objectclass)\s*=\s*\*",
    ),
    Rule::new(
        1,
        Critical,
        "code-injection",
        "code of PHP or Java",
        "code",
        r#"<\?php\b|<\?=|\b(?:base64_decode|gzinflate|shell_exec|passthru|proc_open|popen|assert|preg_replace)\s*\(\s*['"$]|\bphpinfo\s*\(\s*\)|java\.lang\.(?:runtime|processbuilder)|\bruntime\.getruntime|%\{\(#|ognl|class\.module\.classloader|\bo:\d+:\\?"[a-z_\\]+\\?":\d+:\{|\bro0ab[xqy]"#,
    ),
    Rule::new(
        1,
        Critical,
        "code-injection",
        "code of Node or Python",
        "code",
        r#"require\s*\(\s*['"]child_process|process\.mainmodule|__proto__\s*(?:\]|\[|["']\s*:|=|\.)|constructor\s*\[?\.?['"]?prototype|__import__\s*\(\s*['"](?:os|subprocess)|\bos\.(?:system|popen)\s*\(|pickle\.loads"#,
    ),
    Rule::new(
        1,
        Warning,
        "scanner",
        "a program that seeks holes",
        "its name",
        r"\b(?:sqlmap|nikto|nessus|acunetix|netsparker|dirbuster|gobuster|wpscan|masscan|zgrab|nuclei|havij|w3af|arachni|feroxbuster|ffuf)\b",
    ),
    Rule::new(2, Notice, "null-byte", "a null byte", "a null byte", r"%00|\x00"),
    Rule::new(4, Notice, "odd-characters", "many marks", "marks", r#"[<>'"`;|$(){}\[\]\\]{4,}"#),
];

/// Comments of SQL as spaces: they separate words, also `/*!50000select*/`, whose content runs.
pub(super) fn without_comments(text: &str) -> String {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = PATTERN.get_or_init(|| Regex::new(r"/\*(?:!\d{0,6})?|\*/").ok()) else {
        return text.to_owned();
    };
    static WHOLE: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(whole) = WHOLE.get_or_init(|| Regex::new(r"/\*[^!*]{0,100}\*/").ok()) else { return text.to_owned() };
    pattern.replace_all(&whole.replace_all(text, " "), " ").into_owned()
}
