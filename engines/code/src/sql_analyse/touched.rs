//! Tables, columns, joins and parameters used by a statement.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, CopySource, Expr, Ident, JoinOperator, ObjectName, ObjectType, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, Statement, TableFactor, TableWithJoins, Value, ValueWithSpan,
    Visit as _, Visitor,
};

#[derive(Default)]
pub(super) struct Touched {
    pub tables: Vec<String>,
    pub columns: Vec<String>,
    pub joins: Vec<String>,
    pub parameters: Vec<String>,
}

impl Touched {
    pub(super) fn of(statement: &Statement) -> Self {
        let mut references = References::default();
        let _ = statement.visit(&mut references);
        references.names_beside(statement);
        let local = |name: &String| references.local.contains(&name.to_lowercase());
        Self {
            tables: once(references.tables.iter().filter(|name| !local(name)).cloned()),
            columns: once(references.columns.iter().filter_map(|column| references.resolve(column))),
            joins: references.joins,
            parameters: once(references.parameters.into_iter()),
        }
    }
}

/// Distinct names in order of first appearance.
fn once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// An object's name without quotes.
pub(super) fn plain(name: &ObjectName) -> String {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| part.as_ident().map_or_else(|| part.to_string(), |ident| ident.value.clone()))
        .collect();
    parts.join(".")
}

/// The last part of a name.
pub(super) fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone()).unwrap_or_default()
}

#[derive(Default)]
struct References {
    tables: Vec<String>,
    /// Qualifier and name.
    columns: Vec<(Option<String>, String)>,
    joins: Vec<String>,
    parameters: Vec<String>,
    /// Names of CTEs in lower case. One scope for the whole statement.
    local: BTreeSet<String>,
    /// Lower-case alias to table; an empty table is a subquery.
    aliases: BTreeMap<String, String>,
    /// Names that the select list assigns to expressions.
    renamed: BTreeSet<String>,
}

impl References {
    fn column(&mut self, parts: &[Ident]) {
        if let [before @ .., name] = parts {
            let table = before.iter().map(|ident| ident.value.as_str()).collect::<Vec<_>>().join(".");
            self.columns.push(((!table.is_empty()).then_some(table), name.value.clone()));
        }
    }

    fn object(&mut self, name: &ObjectName) {
        let parts: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
        self.column(&parts);
    }

    /// Replaces the alias by its table; `None` for a name defined in the statement.
    fn resolve(&self, (table, name): &(Option<String>, String)) -> Option<String> {
        let Some(table) = table else {
            return (!self.renamed.contains(name)).then(|| name.clone());
        };
        match self.aliases.get(&table.to_lowercase()).map(String::as_str) {
            Some("") => Some(name.clone()),
            Some(full) => Some(format!("{full}.{name}")),
            None => Some(format!("{table}.{name}")),
        }
    }

    /// Names that the visitor does not cover.
    fn names_beside(&mut self, statement: &Statement) {
        match statement {
            Statement::Drop { object_type: ObjectType::Table | ObjectType::View, names, .. } => {
                self.tables.extend(names.iter().map(plain));
            }
            Statement::Truncate(truncate) => {
                self.tables.extend(truncate.table_names.iter().map(|target| plain(&target.name)));
            }
            Statement::Copy { source: CopySource::Table { table_name, columns }, .. } => {
                self.tables.push(plain(table_name));
                self.columns.extend(columns.iter().map(|column| (None, column.value.clone())));
            }
            Statement::CreateTable(table) => {
                self.columns.extend(table.columns.iter().map(|column| (None, column.name.value.clone())));
            }
            _ => {}
        }
    }

    fn assigned(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => self.object(name),
                AssignmentTarget::Tuple(names) => names.iter().for_each(|name| self.object(name)),
            }
        }
    }

    fn selected(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Wildcard(_) => self.columns.push((None, "*".to_owned())),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                self.columns.push((Some(plain(name)), "*".to_owned()));
            }
            SelectItem::ExprWithAlias { expr: Expr::Identifier(name), alias } if name.value == alias.value => {}
            SelectItem::ExprWithAlias { alias, .. } => drop(self.renamed.insert(alias.value.clone())),
            _ => {}
        }
    }

    fn joined(&mut self, from: &[TableWithJoins]) {
        for (at, table) in from.iter().enumerate() {
            if at > 0 {
                self.joins.push("comma".to_owned());
            }
            self.joins.extend(table.joins.iter().map(|join| join_name(&join.join_operator).to_owned()));
        }
    }
}

fn join_name(operator: &JoinOperator) -> &'static str {
    match operator {
        JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::StraightJoin(_) => "inner",
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => "left",
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => "right",
        JoinOperator::FullOuter(_) => "full",
        JoinOperator::CrossJoin(_) => "cross",
        JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) | JoinOperator::RightSemi(_) => "semi",
        JoinOperator::Anti(_) | JoinOperator::LeftAnti(_) | JoinOperator::RightAnti(_) => "anti",
        JoinOperator::CrossApply | JoinOperator::OuterApply => "apply",
        JoinOperator::AsOf { .. } => "as-of",
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => "array",
    }
}

impl Visitor for References {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.local.insert(cte.alias.name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        select.projection.iter().for_each(|item| self.selected(item));
        self.joined(&select.from);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.tables.push(plain(name));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let (alias, table) = match factor {
            TableFactor::Table { name, alias, .. } => (alias, plain(name)),
            TableFactor::Derived { alias, .. } => (alias, String::new()),
            _ => return ControlFlow::Continue(()),
        };
        if let Some(alias) = alias {
            self.aliases.insert(alias.name.value.to_lowercase(), table);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        match statement {
            Statement::Insert(insert) => insert.columns.iter().for_each(|name| self.object(name)),
            Statement::Update(update) => {
                self.assigned(&update.assignments);
                self.joined(std::slice::from_ref(&update.table));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if name.value.starts_with('@') => self.parameters.push(name.value.clone()),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => self.column(parts),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &value.value {
            self.parameters.push(name.clone());
        }
        ControlFlow::Continue(())
    }
}
