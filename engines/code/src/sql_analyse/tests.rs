use serde_json::{Value, json};

use super::*;

fn run(sql: &str, dialect: &str) -> Value {
    crate::FAMILY.run(201, json!({ "sql": sql, "dialect": dialect }), &Context::default()).unwrap()
}

fn rules(sql: &str) -> Vec<String> {
    let output = run(sql, "generic");
    assert_eq!(output["errors"], json!([]), "{sql}");
    output["problems"].as_array().unwrap().iter().map(|problem| problem["rule"].as_str().unwrap().to_owned()).collect()
}

/// TPC-H specification 3.0.1, section 2.4.3.2, the "Shipping Priority Query" (Q3); the columns in their order in it.
#[test]
fn the_third_query_of_tpc_h() {
    let sql = "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority \
               from customer, orders, lineitem \
               where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey \
               and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' \
               group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate";
    let output = run(sql, "postgres");
    let statement = &output["statements"][0];
    assert_eq!(statement["tables"], json!(["customer", "orders", "lineitem"]));
    assert_eq!(
        statement["columns"],
        json!([
            "l_orderkey",
            "l_extendedprice",
            "l_discount",
            "o_orderdate",
            "o_shippriority",
            "c_mktsegment",
            "c_custkey",
            "o_custkey",
            "o_orderkey",
            "l_shipdate",
        ])
    );
    assert_eq!((&statement["kind"], &statement["writes"]), (&json!("select"), &json!(false)));
    assert_eq!(output["problems"], json!([]));
}

/// PostgreSQL's documentation, "WITH Queries", 7.8.4 "Data-Modifying Statements in WITH".
#[test]
fn a_with_clause_that_moves_rows_is_a_write() {
    let sql = "WITH moved_rows AS (DELETE FROM products WHERE \"date\" >= '2010-10-01' AND \"date\" < '2010-11-01' \
               RETURNING *) INSERT INTO products_log SELECT * FROM moved_rows";
    let output = run(sql, "postgres");
    let statement = &output["statements"][0];
    assert_eq!(statement["writes"], true);
    let mut tables: Vec<&str> = statement["tables"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    tables.sort_unstable();
    assert_eq!(tables, ["products", "products_log"]);
}

/// sqlglot 30.30: `find_all(exp.Table)` and `find_all(exp.Column)` of the same; here with the tables that the aliases
/// mean.
#[test]
fn aliases_become_tables() {
    let sql = "SELECT u.name, o.total FROM users AS u LEFT JOIN shop.orders o ON o.user_id = u.id WHERE u.age > $1";
    let output = run(sql, "postgres");
    let statement = &output["statements"][0];
    assert_eq!(statement["tables"], json!(["users", "shop.orders"]));
    assert_eq!(
        statement["columns"],
        json!(["users.name", "shop.orders.total", "shop.orders.user_id", "users.id", "users.age"])
    );
    assert_eq!((&statement["joins"], &statement["parameters"]), (&json!(["left"]), &json!(["$1"])));
}

/// Each rule by what it is defined to find, and by the same put right.
#[test]
fn each_rule_finds_its_pattern_and_nothing_else() {
    for (rule, wrong, right) in [
        ("write-without-where", "UPDATE t SET a = 1", "UPDATE t SET a = 1 WHERE b = 2"),
        ("select-star", "SELECT * FROM t", "SELECT a FROM t"),
        ("cartesian-join", "SELECT a.x FROM a, b WHERE a.x = 1", "SELECT a.x FROM a, b WHERE a.x = b.x"),
        ("cartesian-join", "SELECT a.x FROM a JOIN b", "SELECT a.x FROM a CROSS JOIN b"),
        ("leading-wildcard", "SELECT a FROM t WHERE a LIKE '%x'", "SELECT a FROM t WHERE a LIKE 'x%'"),
        ("implicit-cast", "SELECT a FROM t WHERE user_id = '42'", "SELECT a FROM t WHERE user_id = 42"),
        (
            "implicit-cast",
            "CREATE TABLE t (zip TEXT); SELECT zip FROM t WHERE zip = 1234",
            "SELECT zip FROM t WHERE zip = '1234'",
        ),
        (
            "string-concatenation",
            "SELECT f('DELETE FROM t WHERE a = ' || x) FROM t",
            "SELECT first || ' ' || second FROM t",
        ),
        ("null-comparison", "SELECT a FROM t WHERE a = NULL", "SELECT a FROM t WHERE a IS NULL"),
        ("tautology", "SELECT a FROM t WHERE a = 'x' OR 1 = 1", "SELECT a FROM t WHERE a = 'x' OR b = 1"),
        ("destructive", "DROP TABLE t", "DROP VIEW v"),
        (
            "not-in-subquery",
            "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)",
            "SELECT a FROM t WHERE a NOT IN (1, 2)",
        ),
    ] {
        assert_eq!(rules(wrong), [rule], "{wrong}");
        assert!(rules(right).is_empty(), "{right}");
    }
}

/// sqlparser-rs tests, sqlparser_mssql.rs, sqlparser_mysql.rs, sqlparser_bigquery.rs: names quoted by dialect.
#[test]
fn each_dialect_quotes_its_own_way() {
    for (dialect, sql, table) in [
        ("mssql", "SELECT [a column] FROM [some table]", "some table"),
        ("mysql", "SELECT `identifier` FROM `my table`", "my table"),
        ("bigquery", "SELECT x FROM `my-project.mydataset.mytable`", "my-project.mydataset.mytable"),
        ("postgres", "SELECT \"x\" FROM \"public\".\"Table\"", "public.Table"),
        ("sqlite", "SELECT x FROM 'quoted'", "quoted"),
    ] {
        let output = run(sql, dialect);
        assert_eq!(output["statements"][0]["tables"], json!([table]), "{dialect}: {output}");
    }
}

#[test]
fn an_unreadable_line_does_not_hide_others() {
    let output = run("SELEC a FROM t; DROP TABLE t; CREATE TABLE u (id INT, a TEXT)", "generic");
    let kinds: Vec<&Value> = output["statements"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["drop-table", "create-table"]);
    assert_eq!(output["statements"][0]["tables"], json!(["t"]));
    assert_eq!(output["errors"].as_array().unwrap().len(), 1);
    assert_eq!(run("SELECT 'open", "generic")["errors"].as_array().unwrap().len(), 1);
}

/// sqlformat's documentation: keywords in capitals, two spaces, each column on a line.
#[test]
fn it_is_formatted() {
    assert_eq!(run("select a, b from t", "generic")["formatted"], "SELECT\n  a,\n  b\nFROM\n  t");
}

/// As deep as the bound allows, and one more: neither overflows the stack.
#[test]
fn long_chains_are_traversed_or_rejected() {
    let chain = |length: usize| format!("SELECT 1{}", " + 1".repeat(length));
    let fits = run(&chain(MAX_OPERATORS - 1), "generic");
    assert_eq!(fits["errors"], json!([]));
    let refused = crate::FAMILY.run(201, json!({ "sql": chain(MAX_OPERATORS + 1) }), &Context::default());
    assert!(matches!(refused, Err(Failure::TooLarge { .. })));
    let nested = run(&format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000)), "generic");
    assert_eq!(nested["errors"].as_array().unwrap().len(), 1);
}

/// The condition that makes a statement of all rows look like one of some.
#[test]
fn a_condition_that_always_holds_is_none() {
    for (sql, found) in [
        ("DELETE FROM t WHERE 1=1", true),
        ("UPDATE t SET a = 2 WHERE (b = 3 OR TRUE)", true),
        ("DELETE FROM t WHERE a = 1", false),
        ("DELETE FROM t WHERE 1 = 1 AND a = 2", false),
    ] {
        let output = crate::FAMILY.run(201, json!({ "sql": sql }), &Context::default()).unwrap();
        assert_eq!(output["problems"].to_string().contains("write-without-where"), found, "{sql}");
    }
}
