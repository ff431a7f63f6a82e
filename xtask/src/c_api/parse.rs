//! The exported items of a module, in the plain form that the C library is written in: doc comment, attributes, item.

/// A module, the name of its page, what it is about, and what it exports.
pub(super) struct Module {
    pub(super) page: &'static str,
    pub(super) about: &'static str,
    pub(super) items: Vec<Item>,
}

/// An item that a module exports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    /// The doc comment's lines without `///`, up to `# Safety`, which is for Rust only.
    pub(super) docs: Vec<String>,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With its value.
    Constant(String),
    /// A struct that C code cannot look into.
    Opaque,
    /// A struct of `uint64_t`: names and docs.
    Struct(Vec<(String, Vec<String>)>),
    /// Types in C: of the result, and of each parameter with its name.
    Function {
        result: &'static str,
        parameters: Vec<(&'static str, String)>,
    },
}

/// Each Rust type of the interface, and its type in C.
const TYPES: [(&str, &str); 13] = [
    ("c_int", "int"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("f64", "double"),
    ("usize", "size_t"),
    ("*const c_char", "const char *"),
    ("*mut c_void", "void *"),
    ("*const u32", "const uint32_t *"),
    ("*mut u64", "uint64_t *"),
    ("*mut ws_stats", "struct ws_stats *"),
    ("*mut ws_rng", "ws_rng *"),
    ("*mut ws_stream", "ws_stream *"),
    ("*const ws_stream", "const ws_stream *"),
];

/// The items of a source.
pub(super) fn items(source: &str) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let mut docs: Vec<String> = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, value) = rest.split_once(": c_int = ").ok_or(rest)?;
            let value = value.trim_end_matches(';').to_owned();
            items.push(item(name, &mut docs, Kind::Constant(value)));
        } else if let Some(rest) = line.strip_prefix("pub struct ") {
            let name = rest.split(['(', ' ']).next().unwrap_or_default();
            let kind = if rest.ends_with('{') {
                Kind::Struct(fields(&mut lines)?)
            } else {
                Kind::Opaque
            };
            items.push(item(name, &mut docs, kind));
        } else if line.starts_with("pub ") && line.contains("extern \"C\" fn ") {
            let mut signature = line.to_owned();
            while !signature.ends_with('{') {
                signature.push_str(lines.next().ok_or("a signature without an end")?.trim());
            }
            let (name, kind) = function(&signature)?;
            items.push(item(&name, &mut docs, kind));
        } else if !line.starts_with("#[") && !line.starts_with("    ") && !line.starts_with(")]") {
            docs.clear();
        }
    }
    Ok(items)
}

fn item(name: &str, docs: &mut Vec<String>, kind: Kind) -> Item {
    let mut docs = std::mem::take(docs);
    if let Some(end) = docs.iter().position(|line| line == "# Safety") {
        docs.truncate(end);
    }
    while docs.last().is_some_and(String::is_empty) {
        docs.pop();
    }
    Item {
        name: name.to_owned(),
        docs,
        kind,
    }
}

fn fields<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut fields = Vec::new();
    let mut docs = Vec::new();
    for line in lines.map(str::trim) {
        if line == "}" {
            break;
        }
        match line.strip_prefix("///") {
            Some(doc) => docs.push(doc.trim().to_owned()),
            None => {
                let field = line
                    .strip_prefix("pub ")
                    .and_then(|field| field.strip_suffix(": u64,"));
                let field = field.ok_or(format!("a field that is no u64: {line}"))?;
                fields.push((field.to_owned(), std::mem::take(&mut docs)));
            }
        }
    }
    Ok(fields)
}

fn function(signature: &str) -> Result<(String, Kind), String> {
    let wrong = || format!("a signature that is not understood: {signature}");
    let (_, rest) = signature.split_once(" fn ").ok_or_else(wrong)?;
    let (name, rest) = rest.split_once('(').ok_or_else(wrong)?;
    let (inside, after) = rest.rsplit_once(')').ok_or_else(wrong)?;
    let result = match after.trim_end_matches('{').trim().strip_prefix("-> ") {
        None => "void",
        Some(result) => c_type(result)?,
    };
    let parameters = inside
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let parameters = parameters.map(|parameter| {
        let (name, rust) = parameter.split_once(": ").ok_or_else(wrong)?;
        Ok((c_type(rust)?, name.to_owned()))
    });
    let parameters = parameters.collect::<Result<_, String>>()?;
    Ok((name.to_owned(), Kind::Function { result, parameters }))
}

fn c_type(rust: &str) -> Result<&'static str, String> {
    match rust {
        "*mut *mut ws_rng" => return Ok("ws_rng **"),
        "*mut *mut ws_stream" => return Ok("ws_stream **"),
        _ => {}
    }
    let found = TYPES.iter().find(|(name, _)| *name == rust);
    found
        .map(|(_, c)| *c)
        .ok_or(format!("no type in C for {rust}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_with_their_docs_and_types() {
        let source = "\
            /// Private.\nfn other() {}\n\
            /// One.\n///\n/// # Safety\n///\n/// Rust.\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn ws_x(\n    \
            a: *mut c_void,\n    b: usize,\n) -> c_int {\n    1\n}\n\
            pub const WS_A: c_int = 3;\n\
            #[repr(C)]\npub struct ws_s {\n    /// F.\n    pub f: u64,\n}\n";
        let items = items(source).unwrap();
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].docs, ["One."]);
        let parameters = vec![("void *", "a".to_owned()), ("size_t", "b".to_owned())];
        let function = Kind::Function {
            result: "int",
            parameters,
        };
        assert_eq!(items[0].kind, function);
        assert_eq!(items[1].kind, Kind::Constant("3".into()));
        let fields = vec![("f".to_owned(), vec!["F.".to_owned()])];
        assert_eq!(items[2].kind, Kind::Struct(fields));
    }

    #[test]
    fn a_type_that_c_does_not_have_is_an_error() {
        let source = "pub extern \"C\" fn ws_x(a: &str) {\n}\n";
        assert!(items(source).is_err());
    }
}
