//! What a node's kind means for complexity. The grammars share most names, and no name means two things.

use tree_sitter::Node;

use crate::code::syntax::{Language, text};

/// What a node is in the flow of control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    #[default]
    None,
    If,
    /// An `elif`.
    Elif,
    /// What follows an `else`, where the grammar has a node for it.
    Else,
    Loop,
    Switch,
    Catch,
    Ternary,
    Function,
    /// `&&`, `||`, `and`, `or`.
    Logical,
    /// What is looked through between logical operators.
    Parentheses,
    /// `goto`, or a jump that says where to.
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

/// A logical operator's.
pub(super) fn operator(node: Node<'_>) -> Option<&'static str> {
    match node.child_by_field_name("operator")?.kind() {
        "&&" | "and" => Some("and"),
        "||" | "or" => Some("or"),
        _ => None,
    }
}

/// Decisions of a node itself, after McCabe with the conditions between logical operators. As radon counts Python, and
/// as the tools of other languages count: a case for each but the default, `?` in Rust, `??` in JavaScript.
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
