//! Native filters available to a program: jaq's, without access to anything but the input, and the counters.

use std::iter::once;

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::Def;
use jaq_core::native::{Fun, v};
use jaq_core::{Cv, Error, Exn, Native, ValXs, load};
use jaq_json::Val;

use super::meter::{Kind, Meter};

pub const STEP: &str = "\u{0}step";
pub const SIZE: &str = "\u{0}size";
pub const TOP: &str = "\u{0}top";
pub const KEY: &str = "\u{0}key";
pub const NEST: &str = "\u{0}nest";
pub const MUL: &str = "\u{0}mul";
pub const PAIRS: &str = "\u{0}pairs";

/// Maximum length of an array searched for by `.[array]`.
const MAX_KEY: usize = 16;
/// Maximum nesting of a text that is parsed as JSON.
const MAX_NESTED: usize = 100;

/// Files, the environment, the clock, the local time zone, the log, the end of the process; and `range`, which is not
/// counted and is redefined below.
const REMOVED: [&str; 10] =
    ["env", "now", "halt", "input", "inputs", "debug_empty", "stderr_empty", "localtime", "strflocaltime", "range"];
/// Definitions that call removed filters.
const UNDEFINED: [&str; 4] = ["stderr", "debug", "halt", "halt_error"];

/// jaq's own definition of its native `range`, from its documentation.
const RANGE: &str = "def range($from; $to; $by): $from |
      if $by > 0 then while(. < $to; . + $by)
    elif $by < 0 then while(. > $to; . + $by)
    else              while(. != $to; . + $by) end;";

/// Filters that pass their value on while their condition holds. Otherwise the program halts, which no `try` catches.
macro_rules! passing {
    (|$meter:ident, $value:ident| $holds:expr) => {
        Native::new(|cv: Cv<'_, Kind>| {
            let ($meter, $value): (&Meter, &Val) = (cv.0.data().meter, &cv.1);
            if $holds { box_once(Ok(cv.1)) } else { box_once(Err(Exn::halt(1))) }
        })
        .with_paths(|cv| {
            let ($meter, $value): (&Meter, &Val) = (cv.0.data().meter, &cv.1.0);
            if $holds { Box::new(once(Ok(cv.1))) } else { Box::new(once(Err(Exn::halt(1)))) }
        })
        .with_update(|cv, update| {
            let ($meter, $value): (&Meter, &Val) = (cv.0.data().meter, &cv.1);
            if $holds { update(cv.1) } else { box_once(Err(Exn::halt(1))) }
        })
    };
}

/// Filters that jq 1.7 has and jaq lacks or defines in another way, by jq's definitions or its manual.
const MORE: &str = r#"
    def leaf_paths: paths(scalars);
    def toarray: if isarray then . else [.] end;
    def IN(s): any(s == .; .);
    def IN(src; s): any(src == s; .);
    def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
    def INDEX(f): INDEX(.[]; f);
    def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
      | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
    def dateadd(u; n): . + n;
    def datesub(u; n): . - n;
    def date: todate;
    def ascii: [.] | implode;
    def join($s): reduce .[] as $x (null; (if . == null then "" else . + $s end)
      + ($x | if . == null then "" elif isboolean or isnumber then tojson else . end)) // "";
    def flat($d): reduce .[] as $x ([]; . + if ($x | isarray) and $d != 0 then $x | flat($d - 1) else [$x] end);
    def flatten: flat(-1);
    def flatten($d): if $d < 0 then error("flatten depth must not be negative") else flat($d) end;
    def put($p; $v): if $p == [] then $v else $p[0] as $k | if ($k | isstring)
      then . + {($k): (.[$k] | put($p[1:]; $v))}
      else (. // []) | if length == $k then . + [null | put($p[1:]; $v)] else .[$k] |= put($p[1:]; $v) end end end;
    def fromstream(f): foreach f as $i ({x: null, e: false}; (if .e then {x: null} else . end)
      | if ($i | length) == 2 then {x: (.x | put($i[0]; $i[1])), e: ($i[0] == [])} else {x, e: ($i[0] | length == 1)} end;
      if .e then .x else empty end);
    def truncate_stream(f): . as $n | null | f | if (.[0] | length) > $n then [.[0][$n:]] + .[1:] else empty end;
    def cell(f): if isstring then f elif . == null then "" elif isarray or isobject
      then error("cannot be put into a row: \(tojson)") else tostring end;
    def @csv: map(cell("\"" + (split("\"") | join("\"\"")) + "\"")) | join(",");
    def @tsv: map(cell(split("\\") | join("\\\\") | split("\t") | join("\\t") | split("\n") | join("\\n")
      | split("\r") | join("\\r"))) | join("\t");
"#;

/// In dependency order.
pub fn definitions() -> Vec<Def<&'static str>> {
    let parsed = |text| load::parse(text, |parser| parser.defs()).unwrap_or_default();
    // jaq's shorter forms of `range` stand before `while`, which the long one needs here.
    let (ranges, rest): (Vec<_>, Vec<_>) = jaq_core::defs().partition(|def| def.name == "range");
    let all = rest.into_iter().chain(parsed(RANGE)).chain(ranges);
    let all = all.chain(jaq_std::defs()).chain(jaq_json::defs()).chain(parsed(MORE));
    all.filter(|def| !UNDEFINED.contains(&def.name)).collect()
}

pub fn all() -> Vec<Fun<Kind>> {
    let jaq = jaq_core::funs::<Kind>().chain(jaq_std::funs::<Kind>()).chain(jaq_json::funs::<Kind>());
    let mut all: Vec<Fun<Kind>> = jaq.filter(|(name, ..)| !REMOVED.contains(name)).collect();
    all.push((STEP, v(0), passing!(|meter, _value| meter.step())));
    all.push((SIZE, v(0), passing!(|meter, value| meter.holds(value))));
    all.push((TOP, v(0), passing!(|meter, value| meter.holds_top(value))));
    all.push((KEY, v(0), Native::new(|cv| key(cv))));
    all.push((NEST, v(0), Native::new(|cv| nest(cv))));
    all.push((MUL, v(2), Native::new(|cv| multiply(cv))));
    all.push((PAIRS, v(1), Native::new(|cv| pairs(cv))));
    all
}

fn fail<'a>(message: &str) -> ValXs<'a, Val> {
    box_once(Err(Exn::from(Error::str(message))))
}

fn key<'a>(cv: Cv<'a, Kind>) -> ValXs<'a, Val> {
    match &cv.1 {
        Val::Arr(items) if items.len() > MAX_KEY => fail("an array of more than 16 elements cannot be searched for"),
        value if cv.0.data().meter.holds(value) => box_once(Ok(cv.1)),
        _ => box_once(Err(Exn::halt(1))),
    }
}

/// A text to be parsed as JSON must not be nested deeper than the parser can recurse.
fn nest<'a>(cv: Cv<'a, Kind>) -> ValXs<'a, Val> {
    if let Val::TStr(text) = &cv.1 {
        let mut depth = 0_usize;
        for byte in text.iter() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_NESTED {
                return fail("JSON text nests too deeply to be read");
            }
        }
    }
    if cv.0.data().meter.holds(&cv.1) { box_once(Ok(cv.1)) } else { box_once(Err(Exn::halt(1))) }
}

fn multiply<'a>(mut cv: Cv<'a, Kind>) -> ValXs<'a, Val> {
    let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
    let meter = cv.0.data().meter;
    let times = |value: &Val| jaq_std::ValT::as_f64(value);
    let fits = match (&left, &right) {
        (Val::TStr(text) | Val::BStr(text), number) | (number, Val::TStr(text) | Val::BStr(text)) => {
            times(number).is_none_or(|times| meter.repeats(text, times))
        }
        _ => true,
    };
    if fits && meter.holds(&left) && meter.holds(&right) && meter.step() {
        box_once((left * right).map_err(Exn::from))
    } else {
        box_once(Err(Exn::halt(1)))
    }
}

fn pairs<'a>(mut cv: Cv<'a, Kind>) -> ValXs<'a, Val> {
    let other = cv.0.pop_var();
    if cv.0.data().meter.pairs(&cv.1, &other) { box_once(Ok(cv.1)) } else { box_once(Err(Exn::halt(1))) }
}
