//! Meaning of node kinds for complexity. The grammars share most names, and no name has two meanings.

use tree_sitter::Node;

use crate::syntax::{Language, text};

/// Role of a node in the control flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    #[default]
    None,
    If,
    /// An `elif`.
    Elif,
    /// The body of an `else`, where the grammar has a node for it.
    Else,
    Loop,
    Switch,
    Catch,
    Ternary,
    Function,
    /// `&&`, `||`, `and`, `or`.
    Logical,
    /// Transparent between logical operators.
    Parentheses,
    /// `goto`, or a labelled jump.
    Jump,
    Call,
}

pub(super) fn role(node: Node<'_>) -> Role {
    match node.kind() {
        "if_statement" | "if_expression" => Role::If,
        "elif_clause" => Role::Elif,
        "else_clause" => Role::Else,
        "for_statement"
        | "for_in_statement"
        | "enhanced_for_statement"
        | "while_statement"
        | "do_statement"
        | "for_expression"
        | "while_expression"
        | "loop_expression" => Role::Loop,
        "switch_statement"
        | "switch_expression"
        | "expression_switch_statement"
        | "type_switch_statement"
        | "select_statement"
        | "match_statement"
        | "match_expression" => Role::Switch,
        "catch_clause" | "except_clause" | "except_group_clause" => Role::Catch,
        "ternary_expression" | "conditional_expression" => Role::Ternary,
        "function_item"
        | "closure_expression"
        | "function_definition"
        | "lambda"
        | "function_declaration"
        | "generator_function_declaration"
        | "generator_function"
        | "function_expression"
        | "arrow_function"
        | "method_definition"
        | "method_declaration"
        | "func_literal"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "lambda_expression" => Role::Function,
        "binary_expression" | "boolean_operator" if operator(node).is_some() => Role::Logical,
        "parenthesized_expression" => Role::Parentheses,
        "goto_statement" => Role::Jump,
        "break_statement" | "continue_statement" if node.named_child_count() > 0 => Role::Jump,
        "break_expression" | "continue_expression"
            if node.named_child(0).is_some_and(|child| child.kind() == "label") =>
        {
            Role::Jump
        }
        "call_expression" | "call" | "method_invocation" => Role::Call,
        _ => Role::None,
    }
}

/// Returns the logical operator of a node.
pub(super) fn operator(node: Node<'_>) -> Option<&'static str> {
    match node.child_by_field_name("operator")?.kind() {
        "&&" | "and" => Some("and"),
        "||" | "or" => Some("or"),
        _ => None,
    }
}

/// Decisions of a node itself, by McCabe with the conditions between logical operators, counted as radon does for
/// Python and as other languages' tools do: every case but the default, `?` in Rust, `??` in JavaScript.
pub(super) fn decisions(node: Node<'_>, parent: &str, role: Role, language: Language, source: &str) -> usize {
    let decides = match role {
        Role::If | Role::Elif | Role::Catch | Role::Ternary | Role::Logical => true,
        Role::Loop => node.kind() != "loop_expression",
        Role::Else => matches!(parent, "for_statement" | "while_statement" | "try_statement"),
        _ => match node.kind() {
            "match_arm" => node.child_by_field_name("pattern").is_some_and(|pattern| text(pattern, source) != "_"),
            "case_clause" => node.named_child(0).is_some_and(|pattern| text(pattern, source) != "_"),
            "switch_case" | "expression_case" | "type_case" | "communication_case" => true,
            "case_statement" => node.child_by_field_name("value").is_some(),
            "switch_label" => node.child(0).is_some_and(|word| word.kind() == "case"),
            "for_in_clause" | "try_expression" => true,
            "if_clause" => parent != "case_clause",
            "assert_statement" => language == Language::Python,
            "let_declaration" => node.child_by_field_name("alternative").is_some(),
            "binary_expression" => node.child_by_field_name("operator").is_some_and(|word| word.kind() == "??"),
            _ => false,
        },
    };
    usize::from(decides)
}
