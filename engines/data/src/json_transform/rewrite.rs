//! Inserts counters wherever a program can loop or grow.
//!
//! Counters precede tail calls, so that a tail-recursive definition still runs as a loop.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};

use super::natives::{KEY, MUL, NEST, PAIRS, SIZE, STEP, TOP};

/// Native filters that do not traverse their input, or whose definitions are counted.
const SHALLOW: [&str; 11] =
    ["length", "has", "error_empty", "first", "last", "limit", "skip", "path", "path_value", "floor", "startswith"];
const LEFT: &str = "$\u{0}left";
const RIGHT: &str = "$\u{0}right";

type T<'s> = Term<&'s str>;

pub fn definition<'s>(def: Def<&'s str>, natives: &[&str]) -> Def<&'s str> {
    Def { name: def.name, args: def.args, body: stepped(Rewrite { natives }.term(def.body)) }
}

fn call(name: &str) -> Term<&str> {
    Term::Call(name, Vec::new())
}

fn pipe<'s>(left: T<'s>, right: T<'s>) -> T<'s> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

fn bind<'s>(value: T<'s>, name: &'s str, body: T<'s>) -> T<'s> {
    Term::BinOp(Box::new(value), BinaryOp::Pipe(Some(Pattern::Var(name))), Box::new(body))
}

fn stepped(term: T<'_>) -> T<'_> {
    pipe(call(STEP), term)
}

fn sized(term: T<'_>) -> T<'_> {
    pipe(term, call(SIZE))
}

/// A value that is compared with any other in one step.
fn is_small(term: &T<'_>) -> bool {
    match term {
        Term::Num(_) | Term::Arr(None) => true,
        Term::Str(None, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
        Term::Obj(entries) => entries.is_empty(),
        Term::Call("null" | "true" | "false" | "nan" | "infinite", args) => args.is_empty(),
        _ => false,
    }
}

struct Rewrite<'n> {
    natives: &'n [&'n str],
}

impl Rewrite<'_> {
    fn boxed<'s>(&self, term: T<'s>) -> Box<T<'s>> {
        Box::new(self.term(term))
    }

    fn term<'s>(&self, term: T<'s>) -> T<'s> {
        match term {
            Term::Id | Term::Num(_) | Term::Var(_) | Term::Break(_) | Term::Arr(None) => term,
            Term::Recurse => pipe(Term::Recurse, call(STEP)),
            Term::Str(format, parts) => {
                let part = |part| match part {
                    StrPart::Term(term) => StrPart::Term(sized(self.term(term))),
                    other => other,
                };
                sized(Term::Str(format, parts.into_iter().map(part).collect()))
            }
            Term::Arr(Some(items)) => sized(Term::Arr(Some(self.boxed(*items)))),
            Term::Obj(entries) => {
                let entry = |(key, value): (T<'s>, Option<T<'s>>)| match value {
                    Some(value) => (self.term(key), Some(self.term(value))),
                    // Shorthand `{a}` and `{$x}`.
                    None => (key, None),
                };
                sized(Term::Obj(entries.into_iter().map(entry).collect()))
            }
            Term::Neg(inner) => Term::Neg(self.boxed(*inner)),
            Term::BinOp(left, op, right) => self.operation(*left, op, *right),
            Term::Label(name, body) => Term::Label(name, self.boxed(*body)),
            Term::Fold(kind, source, pattern, args) => {
                let args = args.into_iter().map(|arg| stepped(self.term(arg))).collect();
                Term::Fold(kind, Box::new(pipe(self.term(*source), call(STEP))), self.pattern(pattern), args)
            }
            Term::TryCatch(body, catch) => Term::TryCatch(self.boxed(*body), catch.map(|catch| self.boxed(*catch))),
            Term::IfThenElse(branches, otherwise) => {
                let branch = |(test, body)| (self.term(test), stepped(self.term(body)));
                let branches = branches.into_iter().map(branch).collect();
                Term::IfThenElse(branches, otherwise.map(|body| Box::new(stepped(self.term(*body)))))
            }
            Term::Def(defs, body) => {
                let defs = defs.into_iter().map(|def| definition(def, self.natives)).collect();
                Term::Def(defs, self.boxed(*body))
            }
            Term::Call(name, args) => self.call(name, args),
            Term::Path(of, Path(parts)) => self.path(*of, parts),
        }
    }

    fn operation<'s>(&self, left: T<'s>, op: BinaryOp<&'s str>, right: T<'s>) -> T<'s> {
        let small = is_small(&left) || is_small(&right);
        let (left, right) = (self.term(left), self.term(right));
        let plain = |left: T<'s>, op, right: T<'s>| Term::BinOp(Box::new(left), op, Box::new(right));
        match op {
            BinaryOp::Pipe(pattern) => {
                let pattern = pattern.map(|pattern| self.pattern(pattern));
                plain(left, BinaryOp::Pipe(pattern), stepped(right))
            }
            BinaryOp::Comma => plain(left, op, right),
            BinaryOp::Alt => plain(left, op, stepped(right)),
            BinaryOp::And | BinaryOp::Or => pipe(plain(left, op, right), call(STEP)),
            BinaryOp::Math(math) => arithmetic(left, math, right),
            BinaryOp::Cmp(_) if small => pipe(plain(left, op, right), call(STEP)),
            BinaryOp::Cmp(_) => pipe(plain(sized(left), op, sized(right)), call(STEP)),
            BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateAlt => plain(left, op, sized(right)),
            // jaq defines `l += r` as `r as $x
            //
            // l |= . + $x`.
            BinaryOp::UpdateMath(math) => {
                let updated = arithmetic(Term::Id, math, Term::Var(RIGHT));
                bind(sized(right), RIGHT, plain(left, BinaryOp::Update, updated))
            }
        }
    }

    fn pattern<'s>(&self, pattern: Pattern<&'s str>) -> Pattern<&'s str> {
        match pattern {
            Pattern::Var(name) => Pattern::Var(name),
            Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(|item| self.pattern(item)).collect()),
            Pattern::Obj(entries) => {
                let entry = |(key, pattern)| (self.term(key), self.pattern(pattern));
                Pattern::Obj(entries.into_iter().map(entry).collect())
            }
        }
    }

    fn call<'s>(&self, name: &'s str, args: Vec<T<'s>>) -> T<'s> {
        let args: Vec<T<'s>> = args.into_iter().map(|arg| self.term(arg)).collect();
        if !self.natives.contains(&name) {
            return Term::Call(name, args);
        }
        if SHALLOW.contains(&name) {
            return pipe(Term::Call(name, args), call(STEP));
        }
        if let ("indices" | "contains", [_]) = (name, args.as_slice()) {
            let body = pipe(Term::Call(PAIRS, vec![Term::Var(RIGHT)]), Term::Call(name, vec![Term::Var(RIGHT)]));
            let all = args.into_iter().next().unwrap_or_default();
            return pipe(bind(sized(all), RIGHT, pipe(call(SIZE), body)), call(STEP));
        }
        let before = if name == "fromjson" { NEST } else { SIZE };
        let native = Term::Call(name, args.into_iter().map(sized).collect());
        pipe(pipe(call(before), native), call(STEP))
    }

    fn path<'s>(&self, of: T<'s>, parts: Vec<(Part<T<'s>>, jaq_core::path::Opt)>) -> T<'s> {
        let mut many = false;
        let mut key = |term: T<'s>| {
            // A literal needs no counter.
            if is_small(&term) {
                return term;
            }
            many = true;
            pipe(self.term(term), call(KEY))
        };
        let part = |(part, opt)| match part {
            Part::Index(at) => (Part::Index(key(at)), opt),
            Part::Range(from, to) => (Part::Range(from.map(&mut key), to.map(&mut key)), opt),
        };
        let path = Path(parts.into_iter().map(part).collect());
        let whole = Term::Path(self.boxed(of), path);
        if many { pipe(whole, call(STEP)) } else { whole }
    }
}

/// One operation on its result; repetition and comparison also charge for their operands.
fn arithmetic<'s>(left: T<'s>, math: Math, right: T<'s>) -> T<'s> {
    let plain = |left: T<'s>, right: T<'s>| Term::BinOp(Box::new(left), BinaryOp::Math(math), Box::new(right));
    match math {
        Math::Add => pipe(plain(left, right), call(TOP)),
        Math::Mul => bind(left, LEFT, bind(right, RIGHT, Term::Call(MUL, vec![Term::Var(LEFT), Term::Var(RIGHT)]))),
        Math::Sub | Math::Div | Math::Rem => pipe(plain(sized(left), sized(right)), call(STEP)),
    }
}
