//! The derive of `Diagnostic` and the macro `remedy!`, documented in `ken-diagnostic`, which
//! re-exports both.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Member, Meta,
    Result, Type,
};

/// Derives `Diagnostic`, and `kind` and `remedy` as methods of the type itself.
#[proc_macro_derive(Diagnostic, attributes(diagnostic))]
pub fn derive(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implementation(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// A `Remedy` from one string literal.
#[proc_macro]
pub fn remedy(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let text = syn::parse_macro_input!(input as LitStr);
    marked(&text, &[])
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn implementation(input: &DeriveInput) -> Result<TokenStream> {
    let defaults = Attributes::read(&input.attrs)?;
    let arms = match &input.data {
        Data::Enum(data) => {
            let arm = |variant: &syn::Variant| {
                let name = &variant.ident;
                let own = Attributes::read(&variant.attrs)?;
                arm(&quote!(Self::#name), name, &variant.fields, &own, &defaults)
            };
            data.variants.iter().map(arm).collect::<Result<Vec<_>>>()?
        }
        Data::Struct(data) => {
            let own = Attributes::default();
            vec![arm(
                &quote!(Self),
                &input.ident,
                &data.fields,
                &own,
                &defaults,
            )?]
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union cannot be an error")),
    };
    let (kinds, remedies): (Vec<_>, Vec<_>) = arms.into_iter().unzip();
    let (name, visibility) = (&input.ident, &input.vis);
    Ok(quote! {
        #[allow(dead_code, unused_variables)]
        impl #name {
            /// The stable name of the kind of error, in snake case, for machines.
            #visibility fn kind(&self) -> &'static str {
                match self { #(#kinds)* }
            }

            /// What would fix it, if known.
            #visibility fn remedy(&self) -> ::std::option::Option<::ken_diagnostic::Remedy> {
                match self { #(#remedies)* }
            }
        }

        impl ::ken_diagnostic::Diagnostic for #name {
            fn kind(&self) -> &'static str {
                self.kind()
            }

            fn remedy(&self) -> ::std::option::Option<::ken_diagnostic::Remedy> {
                self.remedy()
            }
        }
    })
}

/// The attributes of a type or a variant.
#[derive(Default)]
struct Attributes {
    kind: Option<Expr>,
    remedy: Option<Expr>,
    forward: bool,
}

impl Attributes {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut own = Self::default();
        for attribute in attributes {
            if let Meta::List(list) = &attribute.meta
                && attribute.path().is_ident("error")
            {
                own.forward |= list.tokens.to_string() == "transparent";
            }
            if !attribute.path().is_ident("diagnostic") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("kind") {
                    own.kind = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("remedy") {
                    own.remedy = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("forward") {
                    own.forward = true;
                } else {
                    return Err(meta.error("expected `kind`, `remedy` or `forward`"));
                }
                Ok(())
            })?;
        }
        Ok(own)
    }
}

/// The match arms for one variant in `kind` and in `remedy`. What the variant leaves out, the type's attributes give,
/// or else the source if either forwards.
fn arm(
    path: &TokenStream,
    name: &Ident,
    fields: &Fields,
    own: &Attributes,
    defaults: &Attributes,
) -> Result<(TokenStream, TokenStream)> {
    let binding = |member: &Member| match member {
        Member::Named(name) => name.clone(),
        Member::Unnamed(index) => format_ident!("_{}", index.index, span = Span::call_site()),
    };
    let bound: Vec<(Member, Ident)> = fields.members().map(|m| (m.clone(), binding(&m))).collect();
    let members = bound.iter().map(|(member, binding)| match member {
        Member::Named(name) => quote!(#name),
        Member::Unnamed(_) => quote!(#member: #binding),
    });
    let pattern = quote!(#path { #(#members),* });
    let mut bindings = bound.iter().map(|(_, binding)| binding);
    let source = match own.forward || defaults.forward {
        true => bindings
            .clone()
            .find(|name| *name == "source" || *name == "_0"),
        false => None,
    };
    if own.forward && source.is_none() {
        return Err(Error::new_spanned(name, "there is no source to forward to"));
    }
    let paths: Vec<&Ident> = fields
        .iter()
        .filter_map(|field| bindings.next().filter(|_| is_path(&field.ty)))
        .collect();
    let kind = match (own.kind.as_ref().or(defaults.kind.as_ref()), source) {
        (Some(kind), _) => quote!(#kind),
        (None, Some(source)) => quote!(::ken_diagnostic::Diagnostic::kind(#source)),
        (None, None) => {
            let kind = snake_case(&name.to_string());
            quote!(#kind)
        }
    };
    let remedy = match (own.remedy.as_ref().or(defaults.remedy.as_ref()), source) {
        (
            Some(Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            })),
            _,
        ) => {
            let remedy = marked(text, &paths)?;
            quote!(::std::option::Option::Some(#remedy))
        }
        (Some(remedy), _) => {
            quote!(::std::option::Option::<::ken_diagnostic::Remedy>::from(#remedy))
        }
        (None, Some(source)) => quote!(::ken_diagnostic::Diagnostic::remedy(#source)),
        (None, None) => quote!(::std::option::Option::None),
    };
    Ok((quote!(#pattern => #kind,), quote!(#pattern => #remedy,)))
}

fn is_path(kind: &Type) -> bool {
    let Type::Path(path) = kind else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == "PathBuf")
}

/// The remedy of a text with marks: `<setting>`, `<Action>`, `<Action {argument}>` and
/// `<*expression>`. The rest is formatted as by `format!`; `paths` are displayed.
fn marked(text: &LitStr, paths: &[&Ident]) -> Result<TokenStream> {
    let value = text.value();
    let mut rest = value.as_str();
    let mut parts = Vec::new();
    while let Some((before, marked)) = rest.split_once('<') {
        let (mark, after) = marked
            .split_once('>')
            .ok_or_else(|| Error::new(text.span(), "a mark is not closed"))?;
        parts.extend(literal(before, text, paths));
        parts.push(part(mark, text, paths)?);
        rest = after;
    }
    parts.extend(literal(rest, text, paths));
    Ok(quote!(::ken_diagnostic::Remedy::of(
        ::std::vec![#(#parts),*]
    )))
}

fn part(mark: &str, text: &LitStr, paths: &[&Ident]) -> Result<TokenStream> {
    if let Some(expression) = mark.strip_prefix('*') {
        let expression: Expr = LitStr::new(expression, text.span()).parse()?;
        return Ok(quote!(::ken_diagnostic::Part::Action((#expression).clone())));
    }
    if !mark.starts_with(char::is_uppercase) {
        return Ok(quote!(::ken_diagnostic::Part::Setting(#mark)));
    }
    let (name, argument) = match mark.split_once(' ') {
        Some((name, argument)) => (name, Some(formatted(argument, text, paths))),
        None => (mark, None),
    };
    let action = Ident::new(name, text.span());
    let arguments = argument.map(|argument| quote!((#argument)));
    Ok(quote!(::ken_diagnostic::Part::Action(::ken_diagnostic::Action::#action #arguments)))
}

fn literal(piece: &str, text: &LitStr, paths: &[&Ident]) -> Option<TokenStream> {
    if piece.is_empty() {
        return None;
    }
    let words = formatted(piece, text, paths);
    Some(quote!(::ken_diagnostic::Part::Text(#words.into())))
}

fn formatted(piece: &str, text: &LitStr, paths: &[&Ident]) -> TokenStream {
    let named = paths
        .iter()
        .filter(|path| piece.contains(&format!("{{{path}}}")));
    let displayed = named.map(|path| quote!(#path = #path.display()));
    if !piece.contains(['{', '}']) {
        return quote!(::std::string::String::from(#piece));
    }
    let piece = LitStr::new(piece, text.span());
    quote!(::std::format!(#piece #(, #displayed)*))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
