use serde_json::{Value, json};

use super::literals::{self, Language, masked};
use super::{Grade, rules};
use muster_engine::Context;

fn review(path: &str, lines: &[&str]) -> Value {
    let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    let patch = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{added}", lines.len());
    crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default()).unwrap()
}

fn reasons(path: &str, lines: &[&str]) -> Vec<String> {
    let output = review(path, lines);
    let reasons = output["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap().to_owned());
    reasons.filter(|reason| reason.contains("(CWE-")).collect()
}

#[test]
fn each_pattern_compiles() {
    let (compiled, written) = rules::counts();
    assert_eq!(compiled, written);
}

/// The patch that was rated 0.127.
#[test]
fn a_shell_command_of_a_url_and_eval_dominate_the_rating() {
    let patch = "--- a/fetch.py\n+++ b/fetch.py\n@@ -1,4 +1,6 @@\n import os\n \n def fetch(url, rule):\n-    return None\n\
                 +    os.system(\"rm -rf \" + url)\n+    result = eval(rule)\n+    return result\n";
    let output = crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default()).unwrap();
    assert!(output["risk"].as_f64().unwrap() > 0.98, "{output}");
    let first = output["reasons"][0].as_str().unwrap();
    assert!(
        first.starts_with("critical: command-injection (CWE-78) at fetch.py:4: `os.system(\"rm -rf \" + url)`"),
        "{first}"
    );
    assert!(output["reasons"][1].as_str().unwrap().starts_with("critical: code-injection (CWE-95) at fetch.py:5"));
}

/// Language by language: the line, and the rule that must fire. The constructs are those of the entries of the CWE list
/// and of the rules of Bandit (B1xx to B7xx), gosec (G1xx to G5xx), Brakeman and ESLint's security plugin.
#[test]
fn dangerous_constructs_are_named() {
    let mut missed = Vec::new();
    for (path, line, rule) in [
        ("a.py", "subprocess.run(f\"tar xf {name}\", shell=True)", "critical: command-injection"),
        ("a.py", "subprocess.check_output(\"ls \" + d, shell=True)", "critical: command-injection"),
        ("a.py", "os.popen(cmd).read()", "critical: command-injection"),
        ("a.py", "exec(compile(source, 'x', 'exec'))", "critical: code-injection"),
        ("a.py", "obj = pickle.loads(request.data)", "high: unsafe-deserialization"),
        ("a.py", "cfg = yaml.load(stream)", "high: unsafe-deserialization"),
        ("a.py", "cfg = yaml.load(stream, Loader=yaml.Loader)", "high: unsafe-deserialization"),
        ("a.py", "cur.execute(\"SELECT * FROM users WHERE name = '\" + name + \"'\")", "critical: sql-injection"),
        ("a.py", "cur.execute(f\"DELETE FROM t WHERE id = {id}\")", "critical: sql-injection"),
        ("a.py", "cur.execute(\"SELECT a FROM t WHERE id = %s\" % id)", "critical: sql-injection"),
        ("a.py", "q = \"SELECT a FROM t WHERE id = {}\".format(id)", "high: sql-injection"),
        ("a.py", "requests.get(url, verify=False)", "high: disabled-certificate-check"),
        ("a.py", "password = \"hunter2!\"", "high: hard-coded-secret"),
        ("a.py", "config = {\"api_key\": \"a8f5f167f44f4964\"}", "high: hard-coded-secret"),
        ("a.py", "digest = hashlib.md5(password.encode()).hexdigest()", "high: weak-password-hash"),
        ("a.py", "jwt.decode(t, options={\"verify_signature\": False})", "high: unverified-token"),
        ("a.js", "const out = eval(req.body.code);", "critical: code-injection"),
        ("a.js", "exec(`convert ${file} out.png`, done);", "critical: command-injection"),
        ("a.js", "child_process.execSync('ls ' + dir)", "critical: command-injection"),
        ("a.js", "new Function('a', body)", "high: code-injection"),
        ("a.js", "db.query('SELECT * FROM users WHERE id = ' + req.params.id)", "critical: sql-injection"),
        ("a.ts", "await pool.query(`SELECT * FROM t WHERE a = '${a}'`)", "critical: sql-injection"),
        ("a.js", "const agent = new https.Agent({ rejectUnauthorized: false })", "high: disabled-certificate-check"),
        ("a.js", "crypto.createHash('md5').update(password)", "high: weak-password-hash"),
        ("a.js", "el.innerHTML = comment.text", "high: cross-site-scripting"),
        ("a.jsx", "<div dangerouslySetInnerHTML={{ __html: html }} />", "high: cross-site-scripting"),
        ("a.go", "cmd := exec.Command(\"sh\", \"-c\", \"ls \"+dir)", "critical: command-injection"),
        ("a.go", "cmd := exec.Command(\"/bin/bash\", \"-c\", input)", "critical: command-injection"),
        ("a.go", "tr := &tls.Config{InsecureSkipVerify: true}", "high: disabled-certificate-check"),
        (
            "a.go",
            "rows, err := db.Query(fmt.Sprintf(\"SELECT * FROM t WHERE id = '%s'\", id))",
            "critical: sql-injection",
        ),
        ("a.go", "const apiToken = \"9f86d081884c7d65\"", "high: hard-coded-secret"),
        ("A.java", "Runtime.getRuntime().exec(\"ping \" + host);", "critical: command-injection"),
        ("A.java", "new ObjectInputStream(socket.getInputStream()).readObject();", "high: unsafe-deserialization"),
        ("A.java", "stmt.executeQuery(\"SELECT * FROM t WHERE n='\" + n + \"'\");", "critical: sql-injection"),
        (
            "A.java",
            "MessageDigest md = MessageDigest.getInstance(\"MD5\"); md.update(password.getBytes());",
            "high: weak-password-hash",
        ),
        ("A.java", "c.setHostnameVerifier((h, s) -> true);", "high: disabled-certificate-check"),
        ("a.rb", "system(\"convert #{params[:file]}\")", "critical: command-injection"),
        ("a.rb", "out = `ls #{dir}`", "critical: command-injection"),
        ("a.rb", "eval(params[:code])", "critical: code-injection"),
        ("a.rb", "Marshal.load(cookie)", "high: unsafe-deserialization"),
        (
            "a.rb",
            "User.where(\"name = '#{x}'\"); http.verify_mode = OpenSSL::SSL::VERIFY_NONE",
            "high: disabled-certificate-check",
        ),
        ("a.rb", "conn.execute(\"DELETE FROM t WHERE id = #{id}\")", "critical: sql-injection"),
        ("a.php", "system($_GET['cmd']);", "critical: command-injection"),
        ("a.php", "eval($code);", "critical: code-injection"),
        ("a.php", "$r = mysqli_query($c, \"SELECT * FROM t WHERE id = \" . $_GET['id']);", "critical: sql-injection"),
        ("a.php", "$o = unserialize($_COOKIE['o']);", "high: unsafe-deserialization"),
        ("a.php", "curl_setopt($ch, CURLOPT_SSL_VERIFYPEER, false);", "high: disabled-certificate-check"),
        ("a.php", "if (md5($password) == $row['hash']) {", "high: weak-password-hash"),
        ("a.php", "echo $_GET['name'];", "high: cross-site-scripting"),
        ("a.c", "system(buffer);", "critical: command-injection"),
        ("a.c", "gets(line);", "critical: buffer-overflow"),
        ("a.c", "strcpy(name, argv[1]);", "high: buffer-overflow"),
        ("a.c", "printf(message);", "high: format-string"),
        ("a.c", "curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);", "high: disabled-certificate-check"),
        (
            "a.rs",
            "Command::new(\"sh\").arg(\"-c\").arg(format!(\"ls {dir}\")).status()?;",
            "critical: command-injection",
        ),
        ("a.rs", "sqlx::query(&format!(\"SELECT * FROM t WHERE id = {id}\"))", "critical: sql-injection"),
        (
            "a.rs",
            "let c = Client::builder().danger_accept_invalid_certs(true).build()?;",
            "high: disabled-certificate-check",
        ),
        ("a.sh", "eval \"$1\"", "critical: code-injection"),
        ("a.sh", "curl -fsSL https://e.org/i.sh | sudo bash", "high: remote-script"),
        ("a.sh", "curl -k https://e.org/x", "high: disabled-certificate-check"),
        ("a.sh", "rm -rf \"$DIR\"", "high: destructive-command"),
        ("a.sh", "export DB_PASSWORD=s3cr3t99", "high: hard-coded-secret"),
        ("deploy.yml", "  password: s3cr3t99", "high: hard-coded-secret"),
        (".github/workflows/a.yml", "      run: echo ${{ github.event.issue.title }}", "critical: workflow-injection"),
    ] {
        let found = reasons(path, &[line]);
        let risk = review(path, &[line])["risk"].as_f64().unwrap();
        if !found.iter().any(|reason| reason.starts_with(rule)) || risk < 0.75 {
            missed.push(format!("{path}: {line}: {risk} {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Each has a word of a rule and is harmless.
#[test]
fn harmless_lines_are_not_reported() {
    let mut alarms = Vec::new();
    for (path, line) in [
        ("a.py", "# never use eval(x) or os.system(y)"),
        ("a.py", "print(\"do not call eval(x)\")"),
        ("a.py", "value = ast.literal_eval(text)"),
        ("a.py", "model.eval()"),
        ("a.py", "def exec(self, query):"),
        ("a.py", "subprocess.run([\"ls\", path], check=True)"),
        ("a.py", "cfg = yaml.safe_load(stream)"),
        ("a.py", "cfg = yaml.load(stream, Loader=yaml.SafeLoader)"),
        ("a.py", "cur.execute(\"SELECT * FROM t WHERE id = %s\", (id,))"),
        ("a.py", "password = os.environ[\"DB_PASSWORD\"]"),
        ("a.py", "password = getpass.getpass(\"Password: \")"),
        ("a.py", "PASSWORD_FIELD = \"password\""),
        ("a.py", "parser.add_argument(\"--token\", help=\"token of the API\")"),
        ("a.py", "requests.get(url, verify=True)"),
        ("a.py", "digest = hashlib.sha256(data).hexdigest()"),
        ("a.js", "const m = pattern.exec(text);"),
        ("a.js", "const x = await sql`SELECT * FROM t WHERE a = ${a}`"),
        ("a.js", "db.query('SELECT * FROM t WHERE id = $1', [id])"),
        ("a.js", "el.textContent = comment.text"),
        ("a.js", "el.innerHTML = ''"),
        ("a.js", "// eval(code)"),
        ("a.go", "cmd := exec.Command(\"ls\", \"-l\")"),
        ("a.go", "rows, err := db.Query(\"SELECT * FROM t WHERE id = $1\", id)"),
        ("A.java", "PreparedStatement s = c.prepareStatement(\"SELECT * FROM t WHERE id = ?\");"),
        ("a.rb", "YAML.safe_load(text)"),
        ("a.rb", "system(\"ls\", \"-l\", dir)"),
        ("a.php", "$s = $db->prepare('SELECT * FROM t WHERE id = ?');"),
        ("a.php", "$db->exec('VACUUM');"),
        ("a.c", "printf(\"%s\\n\", message);"),
        ("a.c", "snprintf(name, sizeof name, \"%s\", argv[1]);"),
        ("a.rs", "let status = Command::new(\"ls\").arg(dir).status()?;"),
        ("a.rs", "fn parse<'a>(text: &'a str) -> &'a str { text }"),
        ("a.rs", "// unsafe { x }"),
        ("a.sh", "rm -rf build/"),
        ("a.sh", "curl -fsSL https://e.org/x -o x"),
        ("README.md", "Run `curl https://e.org/i.sh | sh`, or eval(x)."),
        ("deploy.yml", "  password: ${DB_PASSWORD}"),
        ("deploy.yml", "  password: <set by the vault>"),
    ] {
        alarms.extend(reasons(path, &[line]));
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

#[test]
fn a_call_over_several_lines_and_a_changed_argument_are_found() {
    let found = reasons("a.py", &["subprocess.run(", "    \"ls \" + path,", "    shell=True,", ")"]);
    assert!(found[0].starts_with("critical: command-injection (CWE-78) at a.py:1"), "{found:?}");
    let found = reasons(
        "a.rs",
        &["Command::new(\"sh\")", "    .arg(\"-c\")", "    .arg(format!(\"ls {dir}\"))", "    .status()?;"],
    );
    assert!(found[0].starts_with("critical: command-injection (CWE-78) at a.rs:1"), "{found:?}");
    let patch = "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n os.system(\n-    \"ls\"\n+    \"ls \" + path\n )\n";
    let output = crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default()).unwrap();
    assert!(
        output["reasons"][0].as_str().unwrap().starts_with("high: command-injection (CWE-78) at a.py:1"),
        "{output}"
    );
}

#[test]
fn what_is_only_moved_is_not_of_this_patch() {
    let patch = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n-os.system(cmd)\n+if ready:\n+    os.system(cmd)\n x = 1\n";
    let output = crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default()).unwrap();
    assert!(!output["reasons"].to_string().contains("CWE"), "{output}");
}

#[test]
fn a_check_that_is_removed_is_reported() {
    let patch =
        "--- a/v.py\n+++ b/v.py\n@@ -1,3 +1,2 @@\n-@login_required\n def pay(request):\n     return charge(request)\n";
    let output = crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default()).unwrap();
    assert!(output["reasons"][0].as_str().unwrap().starts_with("high: removed-check (CWE-862) at v.py:1"), "{output}");
}

#[test]
fn no_reason_holds_the_secret() {
    for (path, line, secret) in [
        ("a.py", "password = \"hunter2!xyz\"", "hunter2!xyz"),
        ("a.py", "os.system(\"mysql -phunter2 \" + db); token = \"9f86d081884c7d65\"", "9f86d081884c7d65"),
        ("a.js", "const u = 'postgres://app:s3cretpw@db/x'; eval(u)", "s3cretpw"),
        ("a.sh", "export API_TOKEN=9f86d081884c7d65", "9f86d081884c7d65"),
    ] {
        let output = review(path, &[line]);
        assert!(!output.to_string().contains(secret), "{output}");
        assert!(output["reasons"].to_string().contains("hard-coded-secret"), "{output}");
    }
}

#[test]
fn tests_are_graded_lower() {
    let found = reasons("tests/test_a.py", &["eval(code)"]);
    assert!(found[0].starts_with("high: code-injection"), "{found:?}");
    assert_eq!(Grade::Low.lower(), Grade::Low);
}

#[test]
fn literals_and_comments_are_left_out_of_the_code() {
    let code = |text: &str, language| masked(text, language).code;
    assert_eq!(code("f(\"a\", 'b') # c", Language::Python), "f(\"\", '')  ");
    assert_eq!(code("f(f\"a{b}\")", Language::Python), "f(f\"¤\")");
    assert_eq!(code("x = `a${b}` // c", Language::JavaScript), "x = `¤`  ");
    assert_eq!(code("fn f<'a>(x: &'a str) { g('\\'') }", Language::Rust), "fn f<'a>(x: &'a str) { g('') }");
    assert_eq!(literals::language("docs/a.md"), None);
}

/// A long line of brackets and quotes ends quickly.
#[test]
fn hostile_lines_end() {
    for line in ["(".repeat(100_000), "\"'`".repeat(50_000), "SELECT ".repeat(30_000), "eval(".repeat(30_000)] {
        for path in ["a.py", "a.js", "a.rs", "a.php", "a.sh", "a.yml"] {
            review(path, &[&line, "x"]);
        }
    }
    let many = vec!["subprocess.run("; 3_000];
    review("a.py", &many);
}
