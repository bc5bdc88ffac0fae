//! Parses the struct and its attributes.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprRange, Fields, GenericArgument, Ident, LitStr, Meta, Path,
    PathArguments, RangeLimits, Result, Token, Type,
};

/// How a field may be sent.
pub enum Presence {
    /// Must be sent.
    Required,
    /// May be left out; null counts as left out.
    Optional,
    /// May be left out; null clears it (RFC 7396).
    Nullable,
    /// May be left out; this value is used then.
    Defaulted(Box<Expr>),
}

/// How the value of a field is read.
pub enum FieldKind {
    Text,
    Bool,
    Integer,
    Float,
    Any,
    /// By its serde implementation.
    Serde,
    /// An object that is a request itself.
    Nested,
    /// An array of objects that are requests themselves.
    List,
    /// The members of another request, beside those of this one.
    Flatten,
    /// By a function.
    With(Path),
    /// Not here: another field's reader reads it. Its type is `()`.
    Described,
}

/// One field of a request.
pub struct Field {
    pub ident: Ident,
    /// Its name as it is sent.
    pub name: String,
    /// Its type without the `Option`s that say how it may be sent.
    pub base: Type,
    pub docs: Vec<Attribute>,
    pub presence: Presence,
    pub kind: FieldKind,
    pub options: FieldOptions,
}

/// The attributes of a field.
#[derive(Default)]
pub struct FieldOptions {
    pub range: Option<ExprRange>,
    pub chars: Option<ExprRange>,
    pub items: Option<ExprRange>,
    pub message: Option<Expr>,
    pub no_nul: bool,
    pub not_null: bool,
    pub hidden: bool,
    /// Described by what its type reads, though a function reads it.
    pub traced: bool,
    pub check: Option<Path>,
    pub using: Vec<Ident>,
    pub schema: Option<Type>,
    pub example: Option<TokenStream>,
    /// Passed on to utoipa as it is.
    pub utoipa: TokenStream,
    rename: Option<LitStr>,
    default: Option<Expr>,
    with: Option<Path>,
    nested: bool,
    list: bool,
    flatten: bool,
    described: bool,
    serde: bool,
}

/// The attributes of the struct.
#[derive(Default)]
pub struct StructOptions {
    pub query: bool,
    pub body: bool,
    pub last: bool,
    pub skip_empty: bool,
    pub open: bool,
    pub may_be_empty: bool,
    pub takes_images: bool,
    pub first: Option<Path>,
    pub check: Option<Path>,
    pub schema: Option<Ident>,
    pub example: Option<TokenStream>,
    pub required: Vec<Ident>,
    pub into: Option<Path>,
}

/// A struct that derives `Request`.
pub struct RequestStruct {
    pub ident: Ident,
    pub docs: Vec<Attribute>,
    pub options: StructOptions,
    pub fields: Vec<Field>,
}

impl RequestStruct {
    pub fn parse(input: DeriveInput) -> Result<Self> {
        if !input.generics.params.is_empty() {
            return Err(Error::new_spanned(input.generics, "a request has no generic parameters"));
        }
        let Data::Struct(data) = input.data else {
            return Err(Error::new_spanned(input.ident, "only a struct is a request"));
        };
        let fields = match data.fields {
            Fields::Named(named) => named.named.into_iter().map(Field::parse).collect::<Result<_>>()?,
            Fields::Unit => Vec::new(),
            Fields::Unnamed(fields) => return Err(Error::new_spanned(fields, "a request has named fields")),
        };
        let mut options = StructOptions::default();
        for entry in entries(&input.attrs)? {
            options.set(entry)?;
        }
        Ok(Self { ident: input.ident, docs: docs(&input.attrs), options, fields })
    }
}

impl Field {
    fn parse(field: syn::Field) -> Result<Self> {
        let ident = field.ident.ok_or_else(|| Error::new_spanned(&field.ty, "a request has named fields"))?;
        let mut options = FieldOptions::default();
        for entry in entries(&field.attrs)? {
            options.set(entry)?;
        }
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("schema")) {
            let tokens = attribute.meta.require_list()?.tokens.clone();
            options.utoipa.extend(quote::quote! { #tokens, });
        }
        let name = options
            .rename
            .take()
            .map_or_else(|| ident.to_string().trim_start_matches("r#").to_owned(), |name| name.value());
        let (presence, base) = match (options.default.take(), inner(&field.ty, "Option")) {
            (Some(default), _) => (Presence::Defaulted(Box::new(default)), field.ty),
            (None, None) if options.described => (Presence::Optional, field.ty),
            (None, None) => (Presence::Required, field.ty),
            (None, Some(once)) => match inner(&once, "Option") {
                None => (Presence::Optional, once),
                Some(twice) => (Presence::Nullable, twice),
            },
        };
        let kind = options.kind(&base);
        Ok(Self { ident, name, base, docs: docs(&field.attrs), presence, kind, options })
    }
}

impl FieldOptions {
    fn set(&mut self, Entry { name, value }: Entry) -> Result<()> {
        match name.to_string().as_str() {
            "range" => self.range = Some(value.parse(&name)?),
            "chars" => self.chars = Some(value.parse(&name)?),
            "items" => self.items = Some(value.parse(&name)?),
            "message" => self.message = Some(value.parse(&name)?),
            "check" => self.check = Some(value.parse(&name)?),
            "with" => self.with = Some(value.parse(&name)?),
            "schema" => self.schema = Some(value.parse(&name)?),
            "rename" => self.rename = Some(value.parse(&name)?),
            "example" => self.example = Some(value.tokens(&name)?),
            "using" => self.using = value.parse::<Names>(&name)?.0,
            "default" if value.is_flag() => {
                self.default = Some(syn::parse_quote! { ::core::default::Default::default() });
            }
            "default" => self.default = Some(value.parse(&name)?),
            "no_nul" => self.no_nul = value.flag(&name)?,
            "not_null" => self.not_null = value.flag(&name)?,
            "hidden" => self.hidden = value.flag(&name)?,
            "traced" => self.traced = value.flag(&name)?,
            "described" => self.described = value.flag(&name)?,
            "nested" => self.nested = value.flag(&name)?,
            "list" => self.list = value.flag(&name)?,
            "flatten" => self.flatten = value.flag(&name)?,
            "serde" => self.serde = value.flag(&name)?,
            _ => return Err(Error::new(name.span(), "no attribute of a request's field")),
        }
        Ok(())
    }

    fn kind(&mut self, base: &Type) -> FieldKind {
        if let Some(with) = self.with.take() {
            return FieldKind::With(with);
        }
        match () {
            () if self.flatten => return FieldKind::Flatten,
            () if self.described => return FieldKind::Described,
            () if self.nested => return FieldKind::Nested,
            () if self.list => return FieldKind::List,
            () if self.serde => return FieldKind::Serde,
            () => {}
        }
        let Type::Path(path) = base else { return FieldKind::Serde };
        let Some(last) = path.path.segments.last() else { return FieldKind::Serde };
        match last.ident.to_string().as_str() {
            "String" => FieldKind::Text,
            "bool" => FieldKind::Bool,
            "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => FieldKind::Integer,
            "f32" | "f64" => FieldKind::Float,
            "Value" => FieldKind::Any,
            _ => FieldKind::Serde,
        }
    }
}

impl StructOptions {
    fn set(&mut self, Entry { name, value }: Entry) -> Result<()> {
        match name.to_string().as_str() {
            "query" => self.query = value.flag(&name)?,
            "body" => self.body = value.flag(&name)?,
            "last" => self.last = value.flag(&name)?,
            "skip_empty" => self.skip_empty = value.flag(&name)?,
            "open" => self.open = value.flag(&name)?,
            "may_be_empty" => self.may_be_empty = value.flag(&name)?,
            "takes_images" => self.takes_images = value.flag(&name)?,
            "check" => self.check = Some(value.parse(&name)?),
            "first" => self.first = Some(value.parse(&name)?),
            "schema" => self.schema = Some(value.parse(&name)?),
            "example" => self.example = Some(value.tokens(&name)?),
            "required" => self.required = value.parse::<Names>(&name)?.0,
            "into" => self.into = Some(value.parse(&name)?),
            _ => return Err(Error::new(name.span(), "no attribute of a request")),
        }
        Ok(())
    }
}

/// One `name` or `name = value` of an attribute. A value may be JSON, so its tokens are kept as they are.
struct Entry {
    name: Ident,
    value: EntryValue,
}

struct EntryValue(Option<TokenStream>);

impl EntryValue {
    fn is_flag(&self) -> bool {
        self.0.is_none()
    }

    fn flag(&self, name: &Ident) -> Result<bool> {
        if self.is_flag() { Ok(true) } else { Err(Error::new(name.span(), "takes no value")) }
    }

    fn tokens(self, name: &Ident) -> Result<TokenStream> {
        self.0.ok_or_else(|| Error::new(name.span(), "needs a value"))
    }

    fn parse<T: Parse>(self, name: &Ident) -> Result<T> {
        syn::parse2(self.tokens(name)?)
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        if input.parse::<Option<Token![=]>>()?.is_none() {
            return Ok(Self { name, value: EntryValue(None) });
        }
        // Commas between angle brackets belong to a type.
        let (mut tokens, mut depth) = (TokenStream::new(), 0_i32);
        while !input.is_empty() && (depth > 0 || !input.peek(Token![,])) {
            let token: TokenTree = input.parse()?;
            if let TokenTree::Punct(punct) = &token {
                depth += i32::from(punct.as_char() == '<') - i32::from(punct.as_char() == '>');
            }
            token.to_tokens(&mut tokens);
        }
        Ok(Self { name, value: EntryValue(Some(tokens)) })
    }
}

/// Several names, separated by `+`.
struct Names(Vec<Ident>);

impl Parse for Names {
    fn parse(input: ParseStream) -> Result<Self> {
        Ok(Self(Punctuated::<Ident, Token![+]>::parse_terminated(input)?.into_iter().collect()))
    }
}

fn entries(attributes: &[Attribute]) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("request")) {
        all.extend(attribute.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated)?);
    }
    Ok(all)
}

fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes
        .iter()
        .filter(|attribute| matches!(&attribute.meta, Meta::NameValue(doc) if doc.path.is_ident("doc")))
        .cloned()
        .collect()
}

/// The type that `wrapper` holds, where `ty` is one.
pub fn inner(ty: &Type, wrapper: &str) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == wrapper)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner.clone()),
        _ => None,
    }
}

/// The bounds of an inclusive range.
pub fn bounds(range: &ExprRange) -> (Option<&Expr>, Option<&Expr>) {
    debug_assert!(matches!(range.limits, RangeLimits::Closed(_)) || range.end.is_none());
    (range.start.as_deref(), range.end.as_deref())
}
