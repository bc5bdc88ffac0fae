use serde_json::{Value, json};

use super::*;

fn run(files: &[(&str, &str)], why: Option<&str>) -> Value {
    let manifests: Vec<Value> =
        files.iter().map(|(path, content)| json!({ "path": path, "content": content })).collect();
    crate::FAMILY.run(194, json!({ "manifests": manifests, "why": why }), &Context::default()).unwrap()
}

fn package<'o>(output: &'o Value, name: &str, version: &str) -> &'o Value {
    let packages = output["packages"].as_array().unwrap();
    packages.iter().find(|package| package["name"] == name && package["version"] == version).unwrap()
}

fn names(output: &Value) -> Vec<&str> {
    output["packages"].as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect()
}

/// The Cargo.lock (version 4) that cargo makes of `bitflags` 1 and 2 and `sha2` 0.10, without `libc` and what follows
/// it.
const CARGO_LOCK: &str = r#"
version = 4
[[package]]
name = "app"
version = "0.1.0"
dependencies = ["bitflags 1.3.2", "bitflags 2.13.2", "sha2"]
[[package]]
name = "bitflags"
version = "1.3.2"
source = "registry+https://index.example.org/registry"
[[package]]
name = "bitflags"
version = "2.13.2"
source = "registry+https://index.example.org/registry"
[[package]]
name = "block-buffer"
version = "0.10.4"
source = "registry+https://index.example.org/registry"
dependencies = ["generic-array"]
[[package]]
name = "crypto-common"
version = "0.1.7"
source = "registry+https://index.example.org/registry"
dependencies = ["generic-array", "typenum"]
[[package]]
name = "digest"
version = "0.10.7"
source = "registry+https://index.example.org/registry"
dependencies = ["block-buffer", "crypto-common"]
[[package]]
name = "generic-array"
version = "0.14.7"
source = "registry+https://index.example.org/registry"
dependencies = ["typenum"]
[[package]]
name = "sha2"
version = "0.10.9"
source = "registry+https://index.example.org/registry"
dependencies = ["digest"]
[[package]]
name = "typenum"
version = "1.20.1"
source = "registry+https://index.example.org/registry"
"#;

/// `cargo tree` and `cargo tree --invert --package typenum` of the same: its levels, and its three ways up.
#[test]
fn a_cargo_lock_matches_cargo_tree() {
    let output = run(&[("Cargo.lock", CARGO_LOCK)], Some("typenum"));
    for (name, version, direct, depth, dependents) in [
        ("app", "0.1.0", false, 0, 0),
        ("bitflags", "1.3.2", true, 1, 1),
        ("sha2", "0.10.9", true, 1, 1),
        ("digest", "0.10.7", false, 2, 1),
        ("generic-array", "0.14.7", false, 4, 2),
        ("typenum", "1.20.1", false, 4, 2),
    ] {
        let expect =
            json!({ "name": name, "version": version, "direct": direct, "depth": depth, "dependents": dependents });
        assert_eq!(package(&output, name, version), &expect);
    }
    assert_eq!(output["duplicates"], json!({ "bitflags": ["1.3.2", "2.13.2"] }));
    assert!(output["edges"].as_array().unwrap().contains(&json!(["app", "bitflags@2.13.2"])));
    assert_eq!(
        output["why"],
        json!([
            ["app", "sha2", "digest", "crypto-common", "typenum"],
            ["app", "sha2", "digest", "block-buffer", "generic-array", "typenum"],
            ["app", "sha2", "digest", "crypto-common", "generic-array", "typenum"],
        ])
    );
}

/// `npm ls --all --json` of the package-lock.json (version 3) that npm makes of debug 2.6.9 and ms 2.1.3: two versions
/// of ms, one within debug's own folder.
#[test]
fn a_package_lock_matches_npm_ls() {
    let lock = r#"{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
        "": {"name": "app", "version": "1.0.0", "dependencies": {"debug": "^2.6.9", "ms": "^2.1.3"}},
        "node_modules/debug": {"version": "2.6.9", "license": "MIT", "dependencies": {"ms": "2.0.0"}},
        "node_modules/debug/node_modules/ms": {"version": "2.0.0", "license": "MIT"},
        "node_modules/ms": {"version": "2.1.3", "license": "MIT"}
    }}"#;
    let output = run(&[("package-lock.json", lock)], Some("ms@2.0.0"));
    assert_eq!(output["edges"], json!([["app", "debug"], ["app", "ms@2.1.3"], ["debug", "ms@2.0.0"]]));
    assert_eq!(output["why"], json!([["app", "debug", "ms@2.0.0"]]));
    assert_eq!(package(&output, "ms", "2.0.0")["depth"], 2);
}

/// PEP 751, "Example": cattrs depends on attrs; numpy stands alone.
#[test]
fn the_example_of_pep_751() {
    let lock = r#"
        lock-version = '1.0'
        created-by = 'mousebender'
        [[packages]]
        name = 'attrs'
        version = '25.1.0'
        [[packages]]
        name = 'cattrs'
        version = '24.1.2'
        dependencies = [{name = 'attrs'}]
        [[packages]]
        name = 'numpy'
        version = '2.2.3'
    "#;
    let output = run(&[("pylock.toml", lock)], None);
    assert_eq!(output["edges"], json!([["cattrs", "attrs"]]));
    assert_eq!(
        (&package(&output, "attrs", "25.1.0")["depth"], &package(&output, "numpy", "2.2.3")["depth"]),
        (&json!(2), &json!(1))
    );
}

/// uv's documentation of its lockfile and Poetry's: a root with `source = { editable = "." }`, dependencies as a table.
#[test]
fn the_locks_of_uv_and_poetry() {
    let uv = "version = 1\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\nsource = { editable = \".\" }\n\
        dependencies = [{ name = \"Flask\", extra = [\"async\"] }]\n[[package]]\nname = \"flask\"\nversion = \"3.1.0\"\n\
        source = { registry = \"https://pypi.example.org/simple\" }\ndependencies = [{ name = \"click\" }]\n[[package]]\n\
        name = \"click\"\nversion = \"8.1.8\"\n";
    assert_eq!(run(&[("uv.lock", uv)], None)["edges"], json!([["app", "flask"], ["flask", "click"]]));
    let poetry = "[[package]]\nname = \"requests\"\nversion = \"2.32.3\"\n[package.dependencies]\ncertifi = \">=2017.4.17\"\n\
        charset-normalizer = {version = \">=2,<4\", optional = true}\n[[package]]\nname = \"certifi\"\nversion = \"2025.1.31\"\n";
    let project = "[tool.poetry]\nname = \"app\"\nversion = \"1\"\n[tool.poetry.dependencies]\npython = \"^3.9\"\nrequests = \"^2\"\n";
    let output = run(&[("pyproject.toml", project), ("poetry.lock", poetry)], None);
    assert_eq!(output["edges"], json!([["app", "requests"], ["requests", "certifi"]]));
}

/// pip's documentation, "Requirements File Format", "Example", the lines that name packages.
#[test]
fn the_example_of_requirements() {
    let text = "# It is possible to refer to other requirement files\n-r other-requirements.txt\npytest\npytest-cov\n\
        beautifulsoup4\ndocopt == 0.6.1\nrequests [security] >= 2.8.1, == 2.8.* ; python_version < \"2.7\"\n\
        urllib3 @ https://github.com/urllib3/urllib3/archive/refs/tags/1.26.8.zip#sha1=abc\n\
        FooProject == 1.2 \\\n  --hash=sha256:2cf24dba\n";
    let output = run(&[("requirements.txt", text)], None);
    assert_eq!(
        names(&output),
        ["beautifulsoup4", "docopt", "fooproject", "pytest", "pytest-cov", "requests", "urllib3"]
    );
    assert_eq!(package(&output, "docopt", "0.6.1")["direct"], true);
    assert_eq!(package(&output, "fooproject", "1.2")["depth"], 1);
}

fn warned(files: &[(&str, &str)]) -> (Value, Vec<String>) {
    let manifests: Vec<Value> =
        files.iter().map(|(path, content)| json!({ "path": path, "content": content })).collect();
    let context = Context::default();
    let output = crate::FAMILY.run(194, json!({ "manifests": manifests }), &context).unwrap();
    (output, context.into_warnings())
}

/// setuptools' documentation, "Dependencies Management in Setuptools", the examples of setup.py and setup.cfg.
#[test]
fn the_setup_files_of_setuptools() {
    let program = "from setuptools import setup\n\nREQUIRES = [\n    'requests>=2.28',  # http\n    \"importlib-metadata; \
        python_version<'3.10'\",\n]\n\nsetup(\n    name=\"Project-A\",\n    version='1.0',\n    install_requires=REQUIRES + \
        ['docutils'],\n    extras_require={'PDF': [\"ReportLab>=1.2\", \"RXP\"]},\n)\n";
    let (output, warnings) = warned(&[("setup.py", program)]);
    assert_eq!(names(&output), ["docutils", "importlib-metadata", "project-a", "reportlab", "requests", "rxp"]);
    assert_eq!(package(&output, "project-a", "1.0")["depth"], 0);
    assert_eq!(package(&output, "requests", ">=2.28")["direct"], true);
    assert_eq!(warnings, [""; 0]);
    let config = "[metadata]\nname = Project-A\nversion = 1.0\n\n[options]\ninstall_requires =\n    docutils\n    requests <= 0.4\n\
        [options.extras_require]\npdf = ReportLab>=1.2; RXP\n";
    let (output, _) = warned(&[("setup.cfg", config)]);
    assert_eq!(names(&output)[..2], ["docutils", "project-a"]);
    assert_eq!(package(&output, "requests", "<= 0.4")["direct"], true);
}

/// What a setup.py computes is not absent: it was not assessed.
#[test]
fn what_a_setup_file_computes_is_reported() {
    let program = "import os\nfrom setuptools import setup\nwith open('requirements.txt') as f:\n    required = f.read().splitlines()\n\
        setup(name='a', install_requires=required, **extra)\n";
    let (output, warnings) = warned(&[("setup.py", program)]);
    assert_eq!(names(&output), ["a"]);
    assert_eq!(
        warnings,
        ["not_assessed: setup.py: arguments that it passes as **", "not_assessed: setup.py: install_requires"]
    );
    let (_, warnings) = warned(&[("setup.py", "import setuptools\nsetuptools.setup()\n")]);
    assert!(warnings[0].starts_with("not_assessed: setup.py: it lists no requirements"), "{warnings:?}");
    let (output, warnings) = warned(&[("setup.cfg", "[metadata]\nname = a\nversion = attr: a.__version__\n")]);
    assert_eq!(output["packages"][0]["version"], "");
    assert!(warnings[0].starts_with("not_assessed: setup.cfg: it lists no requirements"), "{warnings:?}");
    let (_, warnings) = warned(&[("setup.cfg", "[options]\ninstall_requires = file: requirements.txt\n")]);
    assert_eq!(warnings, ["not_assessed: setup.cfg: install_requires, which is in requirements.txt"]);
}

#[test]
fn a_pyproject_without_a_project_is_read() {
    let tools = "[build-system]\nrequires = [\"setuptools\"]\n[tool.black]\nline-length = 100\n[dependency-groups]\ntest = [\"pytest\"]\n";
    let (output, warnings) = warned(&[("pyproject.toml", tools)]);
    assert_eq!(names(&output), ["pytest"]);
    assert!(warnings[0].starts_with("not_assessed: pyproject.toml: it has no [project]"), "{warnings:?}");
    let dynamic = "[project]\nname = \"a\"\ndynamic = [\"version\", \"dependencies\"]\n";
    let (_, warnings) = warned(&[("pyproject.toml", dynamic)]);
    assert!(warnings[0].starts_with("not_assessed: pyproject.toml: its dependencies are computed"), "{warnings:?}");
}

/// Pipenv's documentation, "Example Pipfile" and "Example Pipfile.lock".
#[test]
fn the_files_of_pipenv() {
    let pipfile = "[packages]\nDjango = \"==1.5.4\"\nrequests = { extras = ['socks'], version = \"*\" }\n[dev-packages]\npytest = \"*\"\n";
    assert_eq!(names(&run(&[("Pipfile", pipfile)], None)), ["django", "pytest", "requests"]);
    let lock = r#"{"_meta": {}, "default": {"requests": {"hashes": [], "version": "==2.32.3"}, "idna": {"version": "==3.10"}}, "develop": {}}"#;
    let output = run(&[("Pipfile", "[packages]\nrequests = \"*\"\n"), ("Pipfile.lock", lock)], None);
    assert_eq!(package(&output, "requests", "2.32.3")["direct"], true);
    assert_eq!(package(&output, "idna", "3.10")["depth"], -1);
}

#[test]
fn a_file_of_another_kind_is_reported_beside_others() {
    let (_, warnings) = warned(&[("requirements.txt", "six==1.17.0\n-r dev.txt\n"), ("yarn.lock", "")]);
    assert_eq!(
        warnings,
        [
            "not_assessed: yarn.lock is not a file whose dependencies can be read",
            "not_assessed: requirements.txt: `-r dev.txt` leads to another file: give it too",
        ]
    );
}

/// The Go Modules Reference, "go.mod files", its first example.
#[test]
fn the_example_of_go() {
    let text = "module example.com/my/thing\n\ngo 1.23.0\n\nrequire example.com/other/thing v1.0.2\n\
        require example.com/new/thing/v2 v2.3.4 // indirect\nexclude example.com/old/thing v1.2.3\n\
        replace example.com/bad/thing v1.4.5 => example.com/good/thing v1.4.5\nretract [v1.9.0, v1.9.5]\n";
    let output = run(&[("go.mod", text)], None);
    assert_eq!(output["edges"], json!([["example.com/my/thing", "example.com/other/thing"]]));
    assert_eq!(package(&output, "example.com/new/thing/v2", "v2.3.4")["depth"], -1);
}

/// Maven, "Introduction to the POM" (the version in a property) and "Introduction to the Dependency Mechanism" (the
/// version under dependencyManagement).
#[test]
fn a_pom() {
    let text = r#"<?xml version="1.0"?><project xmlns="http://maven.apache.org/POM/4.0.0">
        <parent><groupId>com.mycompany.app</groupId><artifactId>my-app</artifactId><version>1</version></parent>
        <artifactId>my-module</artifactId><properties><v>4.13.2</v></properties>
        <dependencyManagement><dependencies><dependency><groupId>group-a</groupId><artifactId>artifact-a</artifactId>
        <version>1.0</version></dependency></dependencies></dependencyManagement>
        <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>${v}</version></dependency>
        <dependency><groupId>group-a</groupId><artifactId>artifact-a</artifactId></dependency></dependencies></project>"#;
    let output = run(&[("pom.xml", text)], None);
    assert_eq!(package(&output, "com.mycompany.app:my-module", "1")["depth"], 0);
    assert_eq!(package(&output, "junit:junit", "4.13.2")["direct"], true);
    assert_eq!(package(&output, "group-a:artifact-a", "1.0")["direct"], true);
}

#[test]
fn cycles_are_reported_and_terminate() {
    let package = |name: &str, wants: &str| {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\ndependencies = [{wants}]\n"
        )
    };
    let lock = [package("a", "\"b\""), package("b", "\"c\""), package("c", "\"a\""), package("d", "\"a\"")].concat();
    let output = run(&[("Cargo.lock", &lock)], Some("c"));
    assert_eq!(output["cycles"], json!([["a", "b", "c"]]));
    assert_eq!(output["why"], json!([["d", "a", "b", "c"]]));
}

#[test]
fn a_manifest_is_read_with_its_lock() {
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\n[dependencies]\nsha2 = \"0.10\"\nserde = \"1\"\n";
    let output = run(&[("Cargo.toml", manifest), ("Cargo.lock", CARGO_LOCK)], None);
    assert_eq!(package(&output, "serde", "1")["direct"], true);
    assert_eq!(names(&output).iter().filter(|name| **name == "sha2").count(), 1);
}

#[test]
fn a_parse_error_is_reported_with_its_location() {
    for (path, content) in
        [("README.md", ""), ("Cargo.lock", "["), ("package-lock.json", "{}"), ("pom.xml", "<a/>"), ("go.mod", "")]
    {
        let input = json!({ "manifests": [{ "path": path, "content": content }] });
        let Err(Failure::Invalid { problems }) = crate::FAMILY.run(194, input, &Context::default()) else {
            panic!("{path} is taken")
        };
        assert_eq!(problems[0].loc[..2], ["manifests", "0"]);
    }
}
