//! What a Rust file names: paths with `use` trees expanded and `crate`, `self` and `super` resolved, string literals
//! and calls, each with its line and whether it is test code.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree};

/// A path, a string literal or a call in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
    pub(crate) in_test: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// From the name of the crate on where the path begins with `crate`, `self` or `super`.
    pub(crate) paths: Vec<Found<Vec<String>>>,
    pub(crate) literals: Vec<Found<String>>,
    /// The last segment of the function's path, or the method.
    pub(crate) calls: Vec<Found<String>>,
    /// Modules in files of their own that only tests contain.
    pub(crate) test_modules: Vec<Vec<String>>,
    /// The line on which the first test module begins.
    pub(crate) first_test_line: Option<usize>,
    /// The whole file is test code.
    pub(crate) only_tests: bool,
}

impl Scan {
    /// The paths that product code names, with their lines.
    pub(crate) fn product_paths(&self) -> impl Iterator<Item = (usize, &[String])> {
        let product = self.paths.iter().filter(|found| !self.only_tests && !found.in_test);
        product.map(|found| (found.line, found.value.as_slice()))
    }
}

pub(crate) fn scan(file: &syn::File, module: Vec<String>, only_tests: bool) -> Scan {
    let only_tests = only_tests || is_test(&file.attrs);
    let mut scanner = Scanner { module, in_test: only_tests, scan: Scan { only_tests, ..Scan::default() } };
    scanner.visit_file(file);
    scanner.scan
}

/// Whether the item exists in test builds only.
fn is_test(attributes: &[Attribute]) -> bool {
    fn only_in_tests(condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) => path.is_ident("test"),
            Meta::NameValue(pair) => {
                matches!(&pair.value, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. })
                    if pair.path.is_ident("feature") && name.value() == "test-world")
            }
            Meta::List(list) => {
                let parse = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
                let Ok(inner) = list.parse_args_with(parse) else { return false };
                list.path.is_ident("all") && inner.iter().any(only_in_tests)
                    || list.path.is_ident("any") && inner.iter().all(only_in_tests)
            }
        }
    }
    attributes.iter().any(|attribute| {
        let condition = attribute.path().is_ident("cfg").then(|| attribute.parse_args::<Meta>());
        condition.and_then(Result::ok).is_some_and(|condition| only_in_tests(&condition))
    })
}

struct Scanner {
    module: Vec<String>,
    in_test: bool,
    scan: Scan,
}

impl Scanner {
    fn found<T>(&self, value: T, span: Span) -> Found<T> {
        Found { value, line: span.start().line, in_test: self.in_test }
    }

    fn add_path(&mut self, path: Vec<String>, span: Span) {
        let found = self.found(resolve(&self.module, path), span);
        self.scan.paths.push(found);
    }

    fn add_literal(&mut self, literal: String, span: Span) {
        let found = self.found(literal, span);
        self.scan.literals.push(found);
    }

    fn add_call(&mut self, name: String, span: Span) {
        let found = self.found(name, span);
        self.scan.calls.push(found);
    }

    /// Visits an item with its attributes; an item under `#[cfg(test)]` is visited as test code.
    fn under(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let before = self.in_test;
        self.in_test |= is_test(attributes);
        visit(self);
        self.in_test = before;
    }

    /// The module in whose file `mod name;` is, taking `#[path]` into account.
    fn place(&self, item: &syn::ItemMod) -> Vec<String> {
        let renamed = item.attrs.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
            let Meta::NameValue(syn::MetaNameValue { value: syn::Expr::Lit(value), .. }) = &attribute.meta else {
                return None;
            };
            let syn::Lit::Str(path) = &value.lit else { return None };
            Some(path.value().trim_end_matches(".rs").split('/').map(str::to_owned).collect::<Vec<_>>())
        });
        match renamed {
            // From the folder of the file, which is that of its parent.
            Some(path) => [&self.module[..self.module.len().saturating_sub(2)], &path].concat(),
            None => self.module.clone(),
        }
    }

    fn use_tree(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            if prefix.is_empty() || name != "self" {
                path.push(unraw(name));
            }
            path
        };
        match tree {
            UseTree::Path(path) => self.use_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.add_path(with(&name.ident), name.ident.span()),
            UseTree::Rename(rename) => self.add_path(with(&rename.ident), rename.ident.span()),
            UseTree::Glob(glob) => self.add_path([prefix, &["*".to_owned()]].concat(), glob.span()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.use_tree(prefix, tree)),
        }
    }

    /// The arguments of a macro, which `syn` leaves unparsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.add_literal(text.value(), literal.span());
                    }
                }
                TokenTree::Ident(first) => {
                    let mut path = vec![unraw(first)];
                    while let Some(TokenTree::Ident(next)) = is_path_separator(tokens.get(at + 1..).unwrap_or_default())
                        .then(|| tokens.get(at + 3))
                        .flatten()
                    {
                        path.push(unraw(next));
                        at += 3;
                    }
                    let declared = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(before) if before == "fn");
                    let called = matches!(tokens.get(at + 1), Some(TokenTree::Group(group))
                        if group.delimiter() == proc_macro2::Delimiter::Parenthesis);
                    if called && !declared {
                        self.add_call(path.last().cloned().unwrap_or_default(), first.span());
                    }
                    if path.len() > 1 {
                        self.add_path(path, first.span());
                    }
                }
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }
}

fn unraw(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    matches!(tokens, [first, second, ..] if is_colon(first) && is_colon(second))
}

fn resolve(module: &[String], path: Vec<String>) -> Vec<String> {
    let mut base: Vec<String> = match path.first().map(String::as_str) {
        Some("crate") => module.iter().take(1).cloned().collect(),
        Some("self" | "super") => module.to_vec(),
        _ => return path,
    };
    for segment in path {
        match segment.as_str() {
            "crate" | "self" => {}
            // The root of the crate has no parent.
            "super" => base.truncate(base.len().saturating_sub(1).max(1)),
            _ => base.push(segment),
        }
    }
    base
}

impl<'ast> Visit<'ast> for Scanner {
    fn visit_item(&mut self, item: &'ast Item) {
        self.under(attributes(item), |scanner| visit::visit_item(scanner, item));
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Const(item) => item.attrs.as_slice(),
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        self.under(attributes, |scanner| visit::visit_impl_item(scanner, item));
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.under(&field.attrs, |scanner| visit::visit_field(scanner, field));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.under(&local.attrs, |scanner| visit::visit_local(scanner, local));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(unraw(&item.ident));
        if is_test(&item.attrs) {
            let start = item.attrs.first().map_or(item.span(), Spanned::span).start().line;
            self.scan.first_test_line.get_or_insert(start);
            if item.content.is_none() {
                self.scan.test_modules.push(self.place(item));
            }
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.add_path(vec![unraw(&item.ident)], item.ident.span());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path.segments.iter().map(|segment| unraw(&segment.ident)).collect(), path.span());
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func
            && let Some(last) = function.path.segments.last()
        {
            self.add_call(unraw(&last.ident), last.ident.span());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.add_call(unraw(&call.method), call.method.span());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.add_literal(literal.value(), literal.span());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        // A doc comment is not code.
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.tokens(list.tokens.clone());
        visit::visit_meta_list(self, list);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.tokens(mac.tokens.clone());
        visit::visit_macro(self, mac);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
