//! Rules, each with the weakness of the CWE list that it stands for.

use std::sync::LazyLock;

use regex::Regex;

use super::Grade::{self, Critical, High, Low, Medium};
use super::literals::Language::{self, C, Go, Java, JavaScript, Other, Php, Python, Ruby, Rust, Shell, Yaml};
use super::literals::{FILLED, Masked};
use super::{secrets, sql};

/// What the first argument of a call means for a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// Nothing.
    Any,
    /// Only one that is computed is reported.
    Computed,
    /// A constant one is two grades lower.
    Graded,
}

/// Languages (none: all), id, grade, argument, pattern of the code, pattern of the text beside it, advice.
type Row = (&'static [Language], &'static str, Grade, Argument, &'static str, &'static str, &'static str);

struct Rule {
    languages: &'static [Language],
    id: &'static str,
    grade: Grade,
    argument: Argument,
    code: Regex,
    text: Option<Regex>,
    advice: &'static str,
}

/// A rule that fits, and the line of the statement, from 0, where its pattern begins.
pub(super) struct Hit {
    pub rule: &'static str,
    pub grade: Grade,
    pub advice: &'static str,
    pub row: usize,
}

const COMMAND: &str = "command-injection (CWE-78)";
const EVAL: &str = "code-injection (CWE-95)";
const DESERIALIZE: &str = "unsafe-deserialization (CWE-502)";
const TLS: &str = "disabled-certificate-check (CWE-295)";
const XSS: &str = "cross-site-scripting (CWE-79)";
const OVERFLOW: &str = "buffer-overflow (CWE-120)";
const NO_SHELL: &str = "pass the arguments as a list to a program, without a shell";
const NO_EVAL: &str = "parse the data; do not run it as code";
const NO_OBJECTS: &str = "read a format that holds data only, such as JSON";
const CHECK: &str = "check certificates; add your own authority to the trust store";
const ESCAPE: &str = "set text, or escape it for the place where it stands";
const BOUNDED: &str = "use the function that takes the size of the target, and check its result";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Commands.
    (&[Python], COMMAND, Critical, Argument::Graded, r"\bos\.(?:system|popen|spawn\w+)\s*\(", "", NO_SHELL),
    (&[Python], COMMAND, Critical, Argument::Graded, r"\b(?:subprocess|commands)\.(?:getoutput|getstatusoutput)\s*\(", "", NO_SHELL),
    (&[Python], COMMAND, Critical, Argument::Graded, r"(?:\bsubprocess\.)?\b(?:run|call|Popen|check_output|check_call|create_subprocess_shell)\s*\(", r"\bshell\s*=\s*True|create_subprocess_shell", NO_SHELL),
    (&[JavaScript], COMMAND, Critical, Argument::Graded, r"(?:\b(?:child_process|childProcess|cp|shelljs|shell)\.|(?:^|[^.\w]))exec(?:Sync)?\s*\(", "", NO_SHELL),
    (&[JavaScript], COMMAND, High, Argument::Computed, r"\b(?:spawn|spawnSync|execFile|execFileSync)\s*\(", r"\bshell\s*:\s*(?:true|['\x22`])", NO_SHELL),
    (&[Go], COMMAND, Critical, Argument::Any, r"\bexec\.Command(?:Context)?\s*\([^)]*[\w\]¤]\s*(?:\+|,|\)|\.\.\.)", r#"["`](?:/bin/|/usr/bin/)?(?:sh|bash|zsh|cmd|powershell)(?:\.exe)?["`]\s*,\s*["`](?:-c|/[cC]|-[cC]ommand)["`]\s*,\s*[^"`\s]|["`](?:-c|/[cC])["`]\s*,\s*["`][^"`]*["`]\s*\+"#, NO_SHELL),
    (&[Go], COMMAND, Medium, Argument::Computed, r"\b(?:exec\.Command|syscall\.Exec)\s*\(", "", "run only programs of a fixed list"),
    (&[Java], COMMAND, Critical, Argument::Graded, r"\.getRuntime\s*\(\s*\)\s*\.exec\s*\(", "", NO_SHELL),
    (&[Java], COMMAND, Critical, Argument::Any, r"\bnew\s+ProcessBuilder\s*\(|\bProcess\.Start\s*\(", r#""(?:/bin/)?(?:sh|bash|cmd|powershell)(?:\.exe)?"\s*,\s*"(?:-c|/[cC])"\s*,\s*[^")]|"(?:-c|/[cC])"\s*,\s*"[^"]*"\s*\+"#, NO_SHELL),
    (&[Ruby], COMMAND, Critical, Argument::Computed, r"(?:^|[^.\w:])(?:Kernel\.)?(?:system|exec|spawn)\s*[( ]|\b(?:IO\.popen|Open3\.\w+|PTY\.spawn)\s*[( ]", "", NO_SHELL),
    (&[Ruby, Php], COMMAND, Critical, Argument::Any, r"`¤`", "", NO_SHELL),
    (&[Ruby], COMMAND, Critical, Argument::Any, r"%x[({\[|!].*#\{", "", NO_SHELL),
    (&[Php], COMMAND, Critical, Argument::Graded, r"(?:^|[^\w>:$])(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec)\s*\(", "", "escape each argument with escapeshellarg, or call no shell"),
    (&[C], COMMAND, Critical, Argument::Graded, r"(?:^|[^.\w>])(?:system|popen|_popen|WinExec|ShellExecute\w*)\s*\(", "", "fork and execv with a fixed program and a list of arguments"),
    (&[Rust], COMMAND, Critical, Argument::Any, r"\bCommand::new\s*\(", r#"(?s)"(?:/bin/)?(?:sh|bash|zsh|cmd|powershell)(?:\.exe)?".*"(?:-c|/[cC])".*(?:\.arg\(\s*(?:&|[a-z_]|format!)|\.args\(.*,\s*(?:&|[a-z_]|format!))"#, NO_SHELL),
    (&[Shell], EVAL, Critical, Argument::Any, r"(?:^|[;&|({]\s*|\s)eval\s+.*[$¤]", "", NO_EVAL),
    (&[Shell], COMMAND, High, Argument::Any, r#"\b(?:ba|z|k)?sh\s+-c\s+"¤""#, "", "pass values as arguments: sh -c '… \"$1\"' _ \"$value\""),
    (&[Shell, Yaml, Other], "remote-script (CWE-494)", High, Argument::Any, r"\b(?:curl|wget)\b[^|;&\n]*\|\s*(?:sudo\s+)?(?:\w+=\S+\s+)*(?:ba|z|k|da)?sh\b|\b(?:source|\.|bash|sh)\s+<\(\s*(?:curl|wget)\b", "", "fetch it, check its SHA-256, then run it"),
    (&[Shell], "destructive-command (CWE-73)", High, Argument::Any, r#"\brm\s+(?:-\w*[rR]\w*\s+)(?:-\w+\s+|--\s+)*(?:\S*/)?(?:"¤"|\$\w|\$\{\w+\})"#, "", "refuse an empty variable first: ${name:?}"),
    (&[Shell, C, Python, Other], "world-writable (CWE-732)", Medium, Argument::Any, r"\bchmod\s*(?:\(.*,|(?:-\w+\s+)*)\s*(?:0o?)?0?777\b", "", "grant the owner only what is needed"),
    (&[Yaml], "workflow-injection (CWE-94)", Critical, Argument::Any, r"\$\{\{\s*github\.(?:event\.(?:issue|pull_request|comment|review|discussion|head_commit|commits|pages|workflow_run)[\w.\[\]*]*\.(?:title|body|name|message|ref|label|email|head_branch|default_branch)|head_ref)\b", "", "put it into env: and use the variable, quoted, in the script"),
    (&[Yaml], "workflow-privilege (CWE-250)", Medium, Argument::Any, r"\bpull_request_target\b|\bpermissions:\s*write-all\b", "", "run untrusted changes without write tokens"),
    // Code.
    (&[Python], EVAL, Critical, Argument::Graded, r"(?:^|[^.\w])(?:eval|exec)\s*\(", "", "use ast.literal_eval or a parser"),
    (&[Python], EVAL, Medium, Argument::Computed, r"(?:^|[^.\w])(?:__import__|compile)\s*\(|\bimportlib\.import_module\s*\(", "", "import only names of a fixed list"),
    (&[JavaScript], EVAL, Critical, Argument::Graded, r"(?:^|[^.\w]|window\.|globalThis\.)eval\s*\(", "", NO_EVAL),
    (&[JavaScript], EVAL, High, Argument::Any, r"\bnew\s+Function\s*\(|\bvm\.(?:runIn\w+|compileFunction)\s*\(|\bset(?:Timeout|Interval)\s*\(\s*[\x22'`]", "", NO_EVAL),
    (&[Ruby], EVAL, Critical, Argument::Computed, r"(?:^|[^.\w])eval\s*[( ]|\.(?:instance_eval|class_eval|module_eval)\s*[( ]", "", NO_EVAL),
    (&[Ruby], EVAL, Medium, Argument::Computed, r"\.(?:public_send|send|constantize)\s*\(?", r"\bparams\b", "call only methods of a fixed list"),
    (&[Php], EVAL, Critical, Argument::Graded, r"(?:^|[^\w>:$])(?:eval|create_function)\s*\(|(?:^|[^\w>:$])assert\s*\(\s*[$\x22]", "", NO_EVAL),
    (&[Php], "file-inclusion (CWE-98)", High, Argument::Computed, r"\b(?:include|require)(?:_once)?\s*\(?", r"(?:include|require)(?:_once)?\s*\(?\s*[^;]*\$", "include only files of a fixed list"),
    (&[Java], EVAL, High, Argument::Computed, r"\b(?:engine|scriptEngine|shell|groovyShell|parser)\.(?:eval|evaluate|parseExpression)\s*\(", "", NO_EVAL),
    // Objects.
    (&[Python], DESERIALIZE, High, Argument::Any, r"\b(?:c?[Pp]ickle|_pickle|dill|cloudpickle|marshal|jsonpickle|shelve|pd|pandas)\.(?:loads?|Unpickler|open|decode|read_pickle)\s*\(", "", NO_OBJECTS),
    (&[Python], DESERIALIZE, Medium, Argument::Any, r"\bjoblib\.load\s*\(|\ballow_pickle\s*=\s*True|\bweights_only\s*=\s*False", "", NO_OBJECTS),
    (&[Ruby], DESERIALIZE, High, Argument::Any, r"\bMarshal\.(?:load|restore)\b|\b(?:YAML|Psych)\.(?:unsafe_load\w*|load)\b", "", "YAML.safe_load, or JSON"),
    (&[Php], DESERIALIZE, High, Argument::Computed, r"(?:^|[^\w>:$])unserialize\s*\(", "", "json_decode"),
    (&[Java], DESERIALIZE, High, Argument::Any, r"\bnew\s+(?:ObjectInputStream|XMLDecoder|BinaryFormatter|NetDataContractSerializer)\b|\.readObject\s*\(|\bTypeNameHandling\.(?:All|Auto|Objects)", "", NO_OBJECTS),
    (&[JavaScript], DESERIALIZE, High, Argument::Any, r"(?:^|[^.\w]|serialize\.|serializer\.)unserialize\s*\(", "", "JSON.parse"),
    // Certificates.
    (&[Python], TLS, High, Argument::Any, r"\bverify(?:_ssl|_certs|_mode)?\s*=\s*(?:False|ssl\.CERT_NONE|CERT_NONE)|\bssl\._create_unverified_context|\bcheck_hostname\s*=\s*False|\bCERT_NONE\b|\bssl\s*=\s*False", "", CHECK),
    (&[JavaScript], TLS, High, Argument::Any, r"\brejectUnauthorized['\x22]?\s*[:=]\s*(?:false|0)|\bstrictSSL['\x22]?\s*:\s*false|\bNODE_TLS_REJECT_UNAUTHORIZED\b", "", CHECK),
    (&[Go], TLS, High, Argument::Any, r"\bInsecureSkipVerify\s*[:=]\s*true|\bssh\.InsecureIgnoreHostKey\s*\(", "", CHECK),
    (&[Java], TLS, High, Argument::Any, r"ALLOW_ALL_HOSTNAME_VERIFIER|NoopHostnameVerifier|TrustAllStrategy|TrustAllCerts|InsecureTrustManager|[hH]ostnameVerifier\s*\(.*->\s*true|ServerCertificateValidationCallback\s*=.*true|void\s+checkServerTrusted\s*\([^)]*\)[^{]*\{\s*\}", "", CHECK),
    (&[Ruby], TLS, High, Argument::Any, r"\bVERIFY_NONE\b|\bverify_ssl:\s*false|\bverify:\s*false", "", CHECK),
    (&[Php], TLS, High, Argument::Any, r"CURLOPT_SSL_VERIFY(?:PEER|HOST)\s*(?:,|=>)\s*(?:false|0|FALSE)", "", CHECK),
    (&[Php], TLS, High, Argument::Any, r"=>\s*(?:false|FALSE)", r"['\x22](?:verify|verify_peer|verify_peer_name)['\x22]\s*=>\s*(?:false|FALSE)", CHECK),
    (&[C], TLS, High, Argument::Any, r"CURLOPT_SSL_VERIFY(?:PEER|HOST)\s*,\s*(?:0|false)|\bSSL_VERIFY_NONE\b", "", CHECK),
    (&[Rust], TLS, High, Argument::Any, r"\bdanger_accept_invalid_(?:certs|hostnames)\s*\(\s*true|\bSslVerifyMode::NONE|\bset_verify\s*\(\s*SslVerifyMode::NONE", "", CHECK),
    (&[Shell, Yaml, Other], TLS, High, Argument::Any, r"\bcurl\b[^|;\n]*\s(?:-\w*k\w*|--insecure)(?:\s|$)|\bwget\b[^|;\n]*--no-check-certificate|\bGIT_SSL_NO_VERIFY=|http\.sslVerify[= ]+false|StrictHostKeyChecking[= ]no|\bNODE_TLS_REJECT_UNAUTHORIZED\s*[=:]|--trusted-host\b|\binsecure_?skip_?verify\s*[:=]\s*true", "", CHECK),
    (&[], "unverified-token (CWE-347)", High, Argument::Any, r"\S", r"^[^\n]*(?:(?i:verify_signature)['\x22]?\s*[:=]\s*[Ff]alse|ignoreExpiration['\x22]?\s*:\s*true|\bParseUnverified\s*\(|insecure_disable_signature_validation|(?i:algorithms?)['\x22]?\s*[:=]\s*\[?\s*['\x22](?i:none)['\x22])", "check the signature, with one algorithm that you chose"),
    // Pages.
    (&[JavaScript], XSS, High, Argument::Any, r"\.(?:inner|outer)HTML\s*\+?=\s*[^=\s\x22'`;]|\.(?:inner|outer)HTML\s*\+?=.*(?:\+\s*\w|¤)|\bdangerouslySetInnerHTML\b|\bv-html\s*=", "", ESCAPE),
    (&[JavaScript], XSS, High, Argument::Computed, r"\bdocument\.write(?:ln)?\s*\(|\.insertAdjacentHTML\s*\(", "", ESCAPE),
    (&[Php], XSS, High, Argument::Any, r"\b(?:echo|print)\b[^;]*\$_(?:GET|POST|REQUEST|COOKIE)", "", "htmlspecialchars"),
    (&[Ruby], XSS, Medium, Argument::Any, r"\.html_safe\b|(?:^|[^.\w])raw\s*\(|<%==", "", ESCAPE),
    (&[Go], XSS, Medium, Argument::Computed, r"\btemplate\.(?:HTML|JS|URL|HTMLAttr)\s*\(", "", ESCAPE),
    (&[Python], XSS, Medium, Argument::Computed, r"\b(?:mark_safe|Markup|render_template_string)\s*\(", "", ESCAPE),
    (&[Python], "debug-mode (CWE-489)", Medium, Argument::Any, r"\bdebug\s*=\s*True|\bDEBUG\s*=\s*True", "", "read it from the environment, off by default"),
    // Memory.
    (&[C], OVERFLOW, Critical, Argument::Any, r"(?:^|[^.\w>])gets\s*\(", "", "fgets"),
    (&[C], OVERFLOW, High, Argument::Any, r"(?:^|[^.\w>])(?:strcpy|strcat|wcscpy|wcscat|stpcpy|sprintf|vsprintf)\s*\(", "", BOUNDED),
    (&[C], OVERFLOW, High, Argument::Any, r"(?:^|[^.\w>])[fsv]*scanf\s*\(", r"%s|%\[", "give a width, such as %63s"),
    (&[C], "format-string (CWE-134)", High, Argument::Any, r"(?:^|[^.\w>])(?:printf|vprintf)\s*\(\s*[a-z_][\w.>\[\]-]*\s*\)|(?:^|[^.\w>])(?:fprintf|syslog|dprintf)\s*\(\s*[\w.>-]+\s*,\s*[a-z_][\w.>\[\]-]*\s*\)", "", "printf(\"%s\", text)"),
    (&[C], "temporary-file (CWE-377)", Medium, Argument::Any, r"(?:^|[^.\w>])(?:tmpnam|tempnam|mktemp)\s*\(", "", "mkstemp"),
    (&[Python], "temporary-file (CWE-377)", Medium, Argument::Any, r"\btempfile\.mktemp\s*\(", "", "tempfile.NamedTemporaryFile"),
    (&[Rust], "unchecked-memory (CWE-119)", Medium, Argument::Any, r"\bunsafe\s*(?:\{|fn\b|impl\b)|\b(?:transmute|from_utf8_unchecked|get_unchecked(?:_mut)?|from_raw_parts(?:_mut)?)\b", "", "state in a comment why it is sound, or use the checked function"),
    // Archives, ciphers, origins.
    (&[Python], "path-traversal (CWE-22)", Medium, Argument::Any, r"\.extractall\s*\((?:[^)]*)\)", "", "extract with filter=\"data\", or check each name"),
    (&[], "weak-cipher (CWE-327)", Medium, Argument::Any, r"\b(?:MODE_ECB|DES3?\.new|ARC4\.new|RC4_set_key|DES_\w+_encrypt|EVP_des_\w+|EVP_rc4|des\.NewCipher|rc4\.NewCipher|createCipher)\s*\(?", "", "AES-GCM or ChaCha20-Poly1305"),
    (&[], "weak-cipher (CWE-327)", Medium, Argument::Any, r"\b(?:getInstance|createCipheriv|createDecipheriv|openssl_encrypt|Cipher\.new)\s*\(", r"(?i)(?:getInstance|createCipheriv|createDecipheriv|Cipher\.new)\s*\(\s*['\x22`](?:des|desede|rc4|rc2|blowfish|aes/ecb|[^'\x22`]*-ecb)|openssl_encrypt\([^;]*['\x22](?:des|rc4|[^'\x22]*-ecb)", "AES-GCM or ChaCha20-Poly1305"),
    (&[], "open-origin (CWE-942)", Medium, Argument::Any, r"[\x22'`]{2}\s*[,:=]\s*[\x22'`]{2}", r"(?i)Access-Control-Allow-Origin['\x22`]?\s*[,:=]\s*['\x22`]\*", "name the origins"),
];

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |&(languages, id, grade, argument, code, text, advice): &Row| {
        let text = if text.is_empty() { None } else { Some(Regex::new(text).ok()?) };
        Some(Rule { languages, id, grade, argument, code: Regex::new(code).ok()?, text, advice })
    };
    ROWS.iter().filter_map(rule).collect()
});

/// Number of rules whose patterns are valid, and of all: a test compares them.
#[cfg(test)]
pub(super) fn counts() -> (usize, usize) {
    (RULES.len(), ROWS.len())
}

/// Returns the rules that a statement breaks. `raw` is its text.
pub(super) fn hits(masked: &Masked, raw: &str, language: Language) -> Vec<Hit> {
    let code = masked.code.as_str();
    let row = |at: usize| code.get(..at).unwrap_or_default().matches('\n').count();
    let mut hits = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.languages.is_empty() || rule.languages.contains(&language)) {
        let Some(found) = rule.code.find(code) else { continue };
        if rule.text.as_ref().is_some_and(|text| !text.is_match(raw)) || defines(code, found.start()) {
            continue;
        }
        let first = argument(code, found.end());
        let grade = match (rule.argument, computed(first)) {
            (Argument::Any, _) | (_, true) => rule.grade,
            (Argument::Computed, false) => continue,
            (Argument::Graded, false) => rule.grade.lower().lower(),
        };
        // The pattern may begin with the character before the call.
        let start = found.start() + found.as_str().len() - found.as_str().trim_start().len();
        hits.push(Hit { rule: rule.id, grade, advice: rule.advice, row: row(start) });
    }
    if language == Python && yaml_objects(code) {
        hits.push(Hit { rule: DESERIALIZE, grade: High, advice: "yaml.safe_load", row: 0 });
    }
    if let Some((grade, at)) = sql::injection(masked, language) {
        let advice = "pass the values as parameters of the statement";
        hits.push(Hit { rule: "sql-injection (CWE-89)", grade, advice, row: row(at) });
    }
    hits.extend(hash(code, raw));
    if let Some(at) = secrets::find(masked, raw, language).first().map(|secret| secret.at) {
        let advice = "take it out, revoke it, and read it from the environment or a vault";
        let row = raw.get(..at).unwrap_or_default().matches('\n').count();
        hits.push(Hit { rule: "hard-coded-secret (CWE-798)", grade: High, advice, row });
    }
    hits
}

/// Whether the name is defined here, not called.
fn defines(code: &str, at: usize) -> bool {
    let before = code.get(..at + 1).unwrap_or_else(|| code.get(..at).unwrap_or_default()).trim_end();
    ["def", "function", "func", "fn"].iter().any(|word| {
        before.strip_suffix(word).is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// `yaml.load` without a safe loader.
fn yaml_objects(code: &str) -> bool {
    static LOAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^[^\n]*\byaml\.(?:load|load_all|unsafe_load|unsafe_load_all|full_load)\s*\(").ok()
    });
    LOAD.as_ref().is_some_and(|load| load.is_match(code))
        && !code.contains("SafeLoader")
        && !code.contains("BaseLoader")
}

/// MD5 and SHA-1, and fast hashes of passwords.
fn hash(code: &str, raw: &str) -> Option<Hit> {
    static WEAK: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"(?i)(?:^|[^\w])(?:hashlib\.)?(?:md5|sha1)(?:\.(?:new|sum\w*|hexdigest|digest|create)|::(?:new|digest|compute|hexdigest)|_init)?\s*\(",
            r"(?i)\bDigest::(?:MD5|SHA1)\b|\b(?:Md5|Sha1)::(?:new|digest)\b",
        ]
        .into_iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
    });
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?i)(?:getInstance|createHash|hashlib\.new|\bhash|hash_init|openssl_digest|EVP_get_digestbyname)\s*\(\s*["'`](?:md5|sha-?1)["'`]"#,
        )
        .ok()
    });
    static FAST: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\bsha-?(?:224|256|384|512)").ok());
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let (line, raw_line) = (first(code), first(raw));
    let lower = raw_line.to_lowercase();
    let password = ["passw", "passphrase", "pwd"].iter().any(|word| lower.contains(word));
    let is = |pattern: &LazyLock<Option<Regex>>, text: &str| pattern.as_ref().is_some_and(|p| p.is_match(text));
    let weak = WEAK.iter().any(|pattern| pattern.is_match(&line)) || is(&NAMED, &raw_line);
    let slow = ["pbkdf2", "scrypt", "argon", "bcrypt", "hmac"].iter().any(|word| lower.contains(word));
    let (rule, grade, advice) = match (weak, password) {
        (true, true) => ("weak-password-hash (CWE-916)", High, "argon2id, scrypt or bcrypt"),
        (true, false) => ("weak-hash (CWE-328)", Low, "SHA-256, unless it is a checksum against accidents"),
        (false, true) if is(&FAST, &raw_line) && line.contains('(') && !slow => {
            ("weak-password-hash (CWE-916)", Medium, "argon2id, scrypt or bcrypt")
        }
        _ => return None,
    };
    Some(Hit { rule, grade, advice, row: 0 })
}

/// The first argument after a call's bracket, or the rest of the line of a call without one.
pub(super) fn argument(code: &str, from: usize) -> &str {
    let rest = code.get(from..).unwrap_or_default();
    let opened = code.get(..from).is_some_and(|before| before.ends_with('('));
    let mut depth = 0_i64;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return rest.get(..at).unwrap_or_default(),
            ')' | ']' | '}' => depth -= 1,
            ',' | ';' if depth == 0 => return rest.get(..at).unwrap_or_default(),
            '\n' if depth == 0 && !opened => return rest.get(..at).unwrap_or_default(),
            _ => {}
        }
    }
    rest
}

/// Whether an expression holds more than literals and constants in capitals.
pub(super) fn computed(expression: &str) -> bool {
    const PLAIN: [&str; 14] =
        ["true", "false", "none", "null", "nil", "new", "await", "string", "b", "r", "u", "f", "l", "as"];
    let words = expression.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let varies = |word: &str| {
        word.chars().any(|c| c.is_lowercase())
            && !PLAIN.contains(&word.to_lowercase().as_str())
            && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    expression.contains(FILLED) || expression.contains("$_") || words.filter(|word| !word.is_empty()).any(varies)
}

/// What a deleted line protected.
pub(super) fn guard(line: &str, language: Language) -> Option<(&'static str, Grade, &'static str)> {
    static GUARDS: LazyLock<Vec<(Regex, Grade)>> = LazyLock::new(|| {
        [
            (
                r"(?i)@(?:\w+\.)?(?:login_required|permission_required|requires?_\w*auth\w*|auth_required|jwt_required|csrf_protect|PreAuthorize|Secured|RolesAllowed|staff_member_required|user_passes_test)|\[Authorize|before_action\s+:(?:authenticate|authorize|require_login)|protect_from_forgery|\b(?:require|ensure|is|check)_?(?:auth\w*|login|permission\w*|admin)\s*\(|\bverify_?(?:signature|token|password|csrf)\w*\s*\(|\bhmac\.compare_digest\s*\(",
                High,
            ),
            (r"(?i)\b(?:html\.escape|escape_?html|htmlspecialchars|escapeshellarg|shlex\.quote|sanitize\w*|bleach\.clean|DOMPurify)\s*[(.]", Medium),
        ]
        .into_iter()
        .filter_map(|(pattern, grade)| Some((Regex::new(pattern).ok()?, grade)))
        .collect()
    });
    let trimmed = line.trim();
    let comment = trimmed.starts_with("//") || (trimmed.starts_with('#') && language != C) || trimmed.starts_with("* ");
    let import = ["import ", "from ", "use ", "require "].iter().any(|word| trimmed.starts_with(word));
    let definition = ["def ", "fn ", "pub fn ", "func ", "function "].iter().any(|word| trimmed.starts_with(word));
    if comment || import || definition {
        return None;
    }
    let (_, grade) = GUARDS.iter().find(|(guard, _)| guard.is_match(line))?;
    Some(("removed-check (CWE-862)", *grade, "say which other place checks it now"))
}
