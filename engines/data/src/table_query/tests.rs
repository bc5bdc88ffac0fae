use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Result<Value, Failure> {
    crate::FAMILY.run(106, input, &Context::default())
}

/// The first rows of sqllogictest's select1.test, with its columns.
fn t1() -> Value {
    json!([
        ["a", "b", "c", "d", "e"],
        [104, 100, 102, 101, 103],
        [107, 105, 106, 108, 109],
        [111, 112, 113, 114, 110],
        [115, 118, 119, 116, 117],
        [121, 124, 123, 122, 120],
        [127, 129, 125, 128, 126],
        [131, 130, 134, 133, 132],
    ])
}

fn rows(sql: &str) -> Value {
    let people = json!(["id,name,boss,pay", "1,Ada,,10.5", "2,Bob,1,8", "3,Cy,1,", "4,Di,2,7.5"]);
    run(json!({ "tables": { "t1": t1(), "people": people }, "sql": sql })).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
        ["rows"]
        .take()
}

/// sqllogictest, select1.test: queries of it over its first seven rows; the values are SQLite's (3.x, `sqlite3`).
#[test]
fn sqllogictest_queries_match_sqlite() {
    let case = "SELECT CASE WHEN c>(SELECT avg(c) FROM t1) THEN a*2 ELSE b*10 END FROM t1 ORDER BY a";
    assert_eq!(rows(case), json!([[1000], [1050], [1120], [230], [242], [254], [262]]));
    let exists = "SELECT a+b*2+c*3+d*4+e*5 FROM t1 WHERE EXISTS (SELECT 1 FROM t1 AS x WHERE x.b < t1.b) AND d > 115 \
                  ORDER BY 1";
    assert_eq!(rows(exists), json!([[1757], [1826], [1902], [1985]]));
    let between = "SELECT a, abs(b - c) FROM t1 WHERE c BETWEEN b-2 AND d+2 OR (e > c AND e < d) ORDER BY a";
    assert_eq!(rows(between), json!([[104, 2], [107, 1], [111, 1], [121, 1], [127, 4], [131, 4]]));
}

/// SQLite gives the same of the same tables.
#[test]
fn joins_and_groups_match_sqlite() {
    let inner = "SELECT p.name, b.name FROM people p JOIN people b ON p.boss = b.id ORDER BY p.id";
    assert_eq!(rows(inner), json!([["Bob", "Ada"], ["Cy", "Ada"], ["Di", "Bob"]]));
    let outer = "SELECT p.name, b.name FROM people p LEFT JOIN people b ON p.boss = b.id WHERE b.id IS NULL";
    assert_eq!(rows(outer), json!([["Ada", null]]));
    let groups = "SELECT boss, COUNT(*), COUNT(pay), SUM(pay) FROM people WHERE boss IS NOT NULL GROUP BY boss \
                  HAVING COUNT(*) > 1";
    assert_eq!(rows(groups), json!([[1, 2, 1, 8]]));
    assert_eq!(rows("SELECT DISTINCT boss FROM people WHERE name IN ('Bob', 'Cy')"), json!([[1]]));
    assert_eq!(rows("SELECT name FROM people ORDER BY pay DESC LIMIT 1 OFFSET 1"), json!([["Bob"]]));
}

/// SQLite 3.40 gives the same of the same tables.
#[test]
fn null_is_neither_true_nor_false() {
    for (sql, expected) in [
        ("SELECT id FROM people WHERE pay > 8 OR boss = 1 ORDER BY id", json!([[1], [2], [3]])),
        ("SELECT id FROM people WHERE NOT (pay > 8 AND boss = 1) ORDER BY id", json!([[2], [4]])),
        ("SELECT id FROM people WHERE NOT (pay > 8 OR boss = 2) ORDER BY id", json!([[2]])),
        ("SELECT boss, COUNT(*) FROM people GROUP BY boss HAVING SUM(pay) > 100 OR COUNT(*) > 1", json!([[1, 2]])),
        (
            "SELECT id, CASE WHEN pay > 8 OR boss = 1 THEN 1 ELSE 0 END AS v FROM people ORDER BY id",
            json!([[1, 1], [2, 1], [3, 1], [4, 0]]),
        ),
        (
            "SELECT id, (pay > 8 AND boss = 2) AS v FROM people ORDER BY id",
            json!([[1, null], [2, false], [3, false], [4, false]]),
        ),
        (
            "SELECT id, NOT (pay > 8 OR boss = 1) AS v FROM people ORDER BY id",
            json!([[1, false], [2, false], [3, false], [4, true]]),
        ),
    ] {
        assert_eq!(rows(sql), expected, "{sql}");
    }
    let like =
        json!({ "tables": { "t": [{ "a": "x" }, { "a": null }, { "a": "éx" }] }, "sql": "SELECT a LIKE '%x' FROM t" });
    assert_eq!(run(like).unwrap()["rows"], json!([[true], [null], [true]]));
}

#[test]
fn functions_that_count_bytes_need_ascii() {
    let of = |text: &str, sql: &str| run(json!({ "tables": { "t": [{ "a": text }] }, "sql": sql }));
    assert_eq!(of("abc", "SELECT SUBSTR(a, 2, 1) FROM t").unwrap()["rows"], json!([["b"]]));
    for (text, sql) in [("éxy", "SELECT SUBSTR(a, 3, 1) FROM t"), ("abc", "SELECT LEFT('éxy', 2) FROM t")] {
        assert!(matches!(of(text, sql), Err(Failure::Invalid { .. })), "{sql}");
    }
    assert_eq!(of("éxy", "SELECT LENGTH(a) FROM t").unwrap()["rows"], json!([[3]]));
}

/// Each level would copy what is under it.
#[test]
fn conditions_that_nest_within_values_are_bounded() {
    let deep = (0..18).fold("TRUE".to_owned(), |inner, _| format!("COALESCE(a AND {inner}, FALSE)"));
    let refused = run(json!({ "tables": { "t": [{ "a": true }] }, "sql": format!("SELECT {deep} FROM t") }));
    assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{refused:?}");
}

#[test]
fn a_join_on_equal_columns_goes_by_hash_and_the_plan_says_so() {
    let numbers: Vec<Value> = (0..3_000).map(|n| json!({ "n": n })).collect();
    let sql = "SELECT COUNT(*) FROM t JOIN u ON t.n = u.n";
    let output = run(json!({ "tables": { "t": numbers.clone(), "u": numbers }, "sql": sql })).unwrap();
    assert_eq!(output["rows"], json!([[3000]]));
    let plan = output["plan"].to_string();
    assert!(plan.contains("by hash") && plan.contains("scan u"), "{plan}");
}

#[test]
fn too_many_comparisons_are_rejected() {
    let same: Vec<Value> = (0..1_500).map(|_| json!({ "n": 1 })).collect();
    for sql in [
        "SELECT COUNT(*) FROM t a JOIN t b ON a.n = b.n",
        "SELECT COUNT(*) FROM t a JOIN t b",
        "SELECT COUNT(*) FROM t WHERE n < (SELECT COUNT(*) FROM t x WHERE x.n = t.n)",
    ] {
        let refused = run(json!({ "tables": { "t": same.clone() }, "sql": sql }));
        assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{sql}: {refused:?}");
    }
    let sql = "SELECT REPEAT(REPEAT(REPEAT('x', 10000), 10000), 10000)";
    let refused = run(json!({ "tables": {}, "sql": sql }));
    assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{refused:?}");
    let deep = format!("SELECT 1{}", "+1".repeat(10_000));
    assert!(matches!(run(json!({ "tables": {}, "sql": deep })), Err(Failure::TooLarge { .. })));
    assert!(run(json!({ "tables": {}, "sql": format!("SELECT 1{}", "+1".repeat(1_000)) })).is_ok());
}

#[test]
fn only_read_queries_are_allowed() {
    for sql in [
        "INSERT INTO t1 VALUES (1)",
        "DELETE FROM t1",
        "UPDATE t1 SET a = 1",
        "DROP TABLE t1",
        "CREATE TABLE x (a INT)",
        "SELECT 1; SELECT 2",
        "SELECT NOW()",
        "SELECT CURRENT_DATE",
        "SELECT RAND()",
        "SELECT GENERATE_UUID()",
        "SELECT * FROM SERIES(100)",
        "SELECT nope FROM t1",
        "SELECT * FROM nowhere",
        "SELEC",
        "",
    ] {
        let refused = run(json!({ "tables": { "t1": t1() }, "sql": sql }));
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{sql}: {refused:?}");
    }
}

#[test]
fn rows_beyond_the_limit_are_reported() {
    let context = Context::default();
    let input = json!({ "tables": { "t1": t1() }, "sql": "SELECT a FROM t1", "limit": 2 });
    let output = crate::FAMILY.run(106, input, &context).unwrap();
    assert_eq!((&output["row_count"], &output["truncated"]), (&json!(2), &json!(true)));
    assert_eq!(context.into_warnings().len(), 1);
    let whole = run(json!({ "tables": { "t1": t1() }, "sql": "VALUES (1, 'a'), (2, 'b')", "limit": 2 })).unwrap();
    assert_eq!((&whole["rows"], &whole["truncated"]), (&json!([[1, "a"], [2, "b"]]), &json!(false)));
}

#[test]
fn rows_of_various_shapes_are_refused() {
    for rows in [json!([{ "a": 1 }, [1]]), json!([["a"], { "a": 1 }]), json!([1]), json!([["a"], [1, 2]])] {
        let refused = run(json!({ "tables": { "t": rows }, "sql": "SELECT * FROM t" }));
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{refused:?}");
    }
}
