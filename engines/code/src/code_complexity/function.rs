//! Name and parameters of a function, from its node and the enclosing one.

use tree_sitter::Node;

use crate::syntax::text;

/// C declarators are nested: `*(*f(int))[3]`.
const MAX_DECLARATORS: usize = 16;

/// Returns `None` for an unnamed lambda.
pub(super) fn name(node: Node<'_>, around: Option<Node<'_>>, source: &str) -> Option<String> {
    let named = node.child_by_field_name("name").or_else(|| declarators(node).last()).or_else(|| {
        let around = around?;
        let field = match around.kind() {
            "variable_declarator" | "public_field_definition" => "name",
            "field_definition" => "property",
            "pair" => "key",
            "assignment_expression" => "left",
            _ => return None,
        };
        let target = around.child_by_field_name(field)?;
        target.child_by_field_name("property").or(Some(target))
    })?;
    Some(text(named, source).to_owned())
}

/// Iterates over the declarators of a C function, outermost first.
fn declarators<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    std::iter::successors(inner_declarator(node), |node: &Node<'t>| inner_declarator(*node)).take(MAX_DECLARATORS)
}

fn inner_declarator(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("declarator")
        .or_else(|| (node.kind() == "parenthesized_declarator").then(|| node.named_child(0)).flatten())
}

pub(super) fn parameters(node: Node<'_>, source: &str) -> usize {
    if node.child_by_field_name("parameter").is_some() {
        return 1;
    }
    let list = node
        .child_by_field_name("parameters")
        .or_else(|| declarators(node).filter_map(|declarator| declarator.child_by_field_name("parameters")).last());
    let Some(list) = list else { return 0 };
    // Java's lambda of one parameter without parentheses.
    if list.kind() == "identifier" {
        return 1;
    }
    let mut cursor = list.walk();
    list.named_children(&mut cursor)
        .map(|parameter| match parameter.kind() {
            "comment" | "line_comment" | "block_comment" | "attribute_item" => 0,
            "keyword_separator" | "positional_separator" => 0,
            "parameter_declaration" if text(parameter, source) == "void" => 0,
            // Go's `a, b int`.
            "parameter_declaration" => {
                let mut cursor = parameter.walk();
                parameter.children_by_field_name("name", &mut cursor).count().max(1)
            }
            _ => 1,
        })
        .sum()
}
