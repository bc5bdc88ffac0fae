//! q201: SQL analysis by dialect.

mod kind;
mod rules;
#[cfg(test)]
mod tests;
mod touched;

use sqlparser::ast::Statement;
use sqlparser::dialect::{self, Dialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use muster_engine::prelude::*;
use muster_engine::stack::on_stack;

/// Maximum size of the SQL in one call, in bytes.
const MAX_SQL: usize = 256 * 1024;
/// Maximum number of operators and keywords in a statement. Chains such as `a + b + c` are nested as deeply as they are
/// long, and the tree is traversed recursively: this limit and [`STACK`] belong together.
const MAX_OPERATORS: usize = 2_000;
/// Stack size in bytes, sufficient for that depth in a debug build.
const STACK: usize = 128 * 1024 * 1024;
/// Maximum number of problems per input.
const MAX_PROBLEMS: usize = 1_000;

#[derive(Input)]
pub struct Input {
    sql: String,
    dialect: Name,
}

#[derive(Clone, Copy, Words)]
enum Name {
    Generic,
    Postgres,
    Mysql,
    Sqlite,
    Mssql,
    Bigquery,
}

#[derive(Default, Output)]
pub struct Output {
    statements: Vec<Described>,
    problems: Vec<Problem>,
    formatted: String,
    errors: Vec<String>,
}

#[derive(Output)]
struct Described {
    kind: String,
    /// In the order of first use, without CTEs.
    tables: Vec<String>,
    /// With the table's name if the statement determines it.
    columns: Vec<String>,
    writes: bool,
    /// In addition to the declared fields: kinds of joins, and parameter placeholders.
    #[wire(extra)]
    joins: Vec<String>,
    #[wire(extra)]
    parameters: Vec<String>,
}

#[derive(Output)]
struct Problem {
    rule: &'static str,
    severity: &'static str,
    message: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.sql.len() > MAX_SQL {
        return Err(Failure::too_large(format!("at most {MAX_SQL} bytes of SQL are read in one call")));
    }
    let fallen = || Failure::internal("the analysis of the SQL stopped");
    let mut output = on_stack(context, STACK, fallen, || read(&input))?;
    if output.problems.len() > MAX_PROBLEMS {
        output.problems.truncate(MAX_PROBLEMS);
        context.warn(format!("only the first {MAX_PROBLEMS} problems are reported"));
    }
    Ok(output)
}

fn read(input: &Input) -> Result<Output, Failure> {
    let dialect: &dyn Dialect = match input.dialect {
        Name::Generic => &dialect::GenericDialect {},
        Name::Postgres => &dialect::PostgreSqlDialect {},
        Name::Mysql => &dialect::MySqlDialect {},
        Name::Sqlite => &dialect::SQLiteDialect {},
        Name::Mssql => &dialect::MsSqlDialect {},
        Name::Bigquery => &dialect::BigQueryDialect {},
    };
    let mut output = Output { formatted: formatted(input), ..Output::default() };
    let tokens = match Tokenizer::new(dialect, &input.sql).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(error) => {
            output.errors.push(error.to_string());
            return Ok(output);
        }
    };
    let parts: Vec<&[TokenWithSpan]> = tokens.split(|token| token.token == Token::SemiColon).collect();
    if parts.iter().any(|part| part.iter().filter(|token| nests(&token.token)).count() > MAX_OPERATORS) {
        return Err(Failure::too_large(format!("at most {MAX_OPERATORS} operators of a statement are read")));
    }
    let parse =
        |tokens: &[TokenWithSpan]| Parser::new(dialect).with_tokens_with_locations(tokens.to_vec()).parse_statements();
    // First as a whole: bodies of triggers and functions contain semicolons.
    let statements = parse(&tokens).unwrap_or_else(|_| {
        parts
            .into_iter()
            .filter_map(|part| parse(part).map_err(|error| output.errors.push(reported(error))).ok())
            .flatten()
            .collect()
    });
    let types = rules::Types::of(&statements);
    for statement in &statements {
        output.problems.extend(rules::check(statement, &types));
    }
    output.statements = statements.iter().map(described).collect();
    Ok(output)
}

fn reported(error: ParserError) -> String {
    match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => "is nested too deeply".to_owned(),
    }
}

/// Returns whether a token may begin another level of the tree.
fn nests(token: &Token) -> bool {
    match token {
        Token::Word(word) => !matches!(
            word.keyword,
            Keyword::NoKeyword | Keyword::NULL | Keyword::TRUE | Keyword::FALSE | Keyword::DEFAULT
        ),
        Token::Comma | Token::Period | Token::LParen | Token::RParen | Token::Whitespace(_) | Token::Number(..) => {
            false
        }
        Token::SingleQuotedString(_) | Token::EOF => false,
        _ => true,
    }
}

fn formatted(input: &Input) -> String {
    let dialect = match input.dialect {
        Name::Postgres => sqlformat::Dialect::PostgreSql,
        Name::Mssql => sqlformat::Dialect::SQLServer,
        _ => sqlformat::Dialect::Generic,
    };
    let options = sqlformat::FormatOptions { uppercase: Some(true), dialect, ..sqlformat::FormatOptions::default() };
    sqlformat::format(&input.sql, &sqlformat::QueryParams::None, &options)
}

fn described(statement: &Statement) -> Described {
    let touched = touched::Touched::of(statement);
    Described {
        kind: kind::kind(statement),
        writes: kind::writes(statement),
        tables: touched.tables,
        columns: touched.columns,
        joins: touched.joins,
        parameters: touched.parameters,
    }
}
