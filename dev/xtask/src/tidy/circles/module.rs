//! One file of a crate: its items, imports, paths, and the methods that it calls on `self`.

use std::collections::{BTreeMap, BTreeSet};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Token, Type, UseTree, Visibility};

/// A path of words, as in `crate::engine::Engine`.
pub(super) type Words = Vec<String>;

/// The name of a type and of one of its methods.
pub(super) type Method = (String, String);

/// A file of a crate.
#[derive(Default)]
pub(super) struct Module<'a> {
    pub(super) path: &'a str,
    /// The items that it defines.
    pub(super) items: BTreeSet<String>,
    /// The modules that it declares.
    pub(super) children: BTreeSet<String>,
    /// The names that other files' items have here, and the paths that they stand for.
    pub(super) aliases: BTreeMap<String, Words>,
    /// `use x::*`.
    pub(super) globs: Vec<Words>,
    /// The imports that it hands on, by their names here.
    pub(super) handed_on: Vec<(String, Words)>,
    /// The imports that it keeps, and the paths in its code.
    pub(super) paths: Vec<Words>,
    pub(super) methods: BTreeSet<Method>,
    pub(super) calls: BTreeSet<Method>,
    /// The type of the `impl` that is being read.
    implemented: String,
}

impl<'a> Module<'a> {
    /// `None` if the text is no Rust.
    pub(super) fn read(path: &'a str, text: &str) -> Option<Self> {
        let mut module = Self {
            path,
            ..Self::default()
        };
        module.visit_file(&syn::parse_file(text).ok()?);
        Some(module)
    }

    /// Collects the leaves of a tree of imports: each with its whole path, and the name that it gets here.
    fn import(&mut self, tree: &UseTree, before: &Words, is_public: bool) {
        let mut words = before.clone();
        let alias = match tree {
            UseTree::Path(path) => {
                words.push(path.ident.to_string());
                return self.import(&path.tree, &words, is_public);
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.import(tree, before, is_public));
            }
            UseTree::Name(name) => {
                words.push(name.ident.to_string());
                name.ident.to_string()
            }
            UseTree::Rename(rename) => {
                words.push(rename.ident.to_string());
                rename.rename.to_string()
            }
            UseTree::Glob(_) => {
                self.globs.push(words.clone());
                "*".into()
            }
        };
        let is_self = words.len() > 1 && words.last().is_some_and(|last| last == "self");
        if is_self {
            words.pop();
        }
        let alias = if is_self && alias == "self" {
            words[words.len() - 1].clone()
        } else {
            alias
        };
        if is_public {
            self.handed_on.push((alias.clone(), words.clone()));
        } else {
            self.paths.push(words.clone());
        }
        if alias != "*" {
            self.aliases.insert(alias, words);
        }
    }
}

/// Whether `#[cfg(test)]` or `#[cfg(all(test, ..))]` is among the attributes.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    let conditions = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    let mut conditions = conditions.filter_map(|attribute| attribute.meta.require_list().ok());
    conditions.any(|condition| {
        let condition = condition.tokens.to_string();
        condition == "test" || condition.replace(' ', "").starts_with("all(test,")
    })
}

impl<'ast> Visit<'ast> for Module<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return,
        };
        if is_of_tests(attributes) {
            return;
        }
        self.items.extend(name.map(ToString::to_string));
        match item {
            Item::Mod(item) => {
                self.children.insert(item.ident.to_string());
                visit::visit_item_mod(self, item);
            }
            Item::Use(item) => {
                let is_public = !matches!(item.vis, Visibility::Inherited);
                self.import(&item.tree, &Words::new(), is_public);
            }
            other => visit::visit_item(self, other),
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Type::Path(path) = &*item.self_ty
            && let Some(last) = path.path.segments.last()
        {
            let name = last.ident.to_string();
            let methods = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
                _ => None,
            });
            // A trait's methods belong to the trait, whatever file implements it.
            if item.trait_.is_none() {
                self.methods
                    .extend(methods.map(|method| (name.clone(), method)));
            }
            self.implemented = name;
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Expr::Path(receiver) = &*call.receiver
            && receiver.path.is_ident("self")
        {
            let method = call.method.to_string();
            self.calls.insert((self.implemented.clone(), method));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.paths.push(words.collect());
        visit::visit_path(self, path);
    }

    /// The arguments of the standard library's macros are expressions.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let list = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = item.parse_body_with(list) {
            // The syntax tree of the arguments lives no longer than this call, so a second reader visits it.
            let mut inner = Module {
                implemented: self.implemented.clone(),
                ..Module::default()
            };
            arguments
                .iter()
                .for_each(|argument| inner.visit_expr(argument));
            self.paths.append(&mut inner.paths);
            self.calls.append(&mut inner.calls);
        }
    }

    /// The path in `pub(in path)` needs nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
