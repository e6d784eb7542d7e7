//! What the files of a crate define, and which definitions they use.
//!
//! A name counts where it is defined: a file that only re-exports it does not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    str::FromStr,
};

use proc_macro2::{TokenStream, TokenTree};

/// The sources of a crate by their paths.
pub(crate) type Files = BTreeMap<PathBuf, String>;

/// The files that each file imports from, and the imported names.
pub(crate) type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

type Names = Vec<String>;

/// The keywords before the name of a definition.
const DEFINE: [&str; 9] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod",
];

#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    defined: BTreeSet<String>,
    /// The path of an imported name.
    imported: BTreeMap<String, Names>,
    globs: Vec<Names>,
}

/// A path in a file.
struct Named {
    file: PathBuf,
    module: Names,
    path: Names,
}

#[derive(Default)]
struct Crate {
    modules: BTreeMap<Names, Module>,
    named: Vec<Named>,
}

/// What the files of the crate with this root import from each other.
pub(crate) fn imports(files: &Files, root: &Path) -> Imports {
    let mut crate_ = Crate::default();
    crate_.load(files, &Vec::new(), root);
    let mut imports = Imports::new();
    for named in &crate_.named {
        let Some(path) = crate_.absolute(&named.module, &named.path, 0) else {
            continue;
        };
        // The part after the definition does not matter.
        let mut ends = (1..=path.len()).rev();
        let Some((file, name)) = ends.find_map(|end| crate_.definition(&path[..end], 0)) else {
            continue;
        };
        if let (true, Some(name)) = (file != named.file, name) {
            let of_file = imports.entry(named.file.clone()).or_default();
            of_file.entry(file).or_default().insert(name);
        }
    }
    imports
}

/// The tokens one after the other: idents, `::`, and the other signs; a literal becomes an empty
/// string.
fn flat(stream: TokenStream, to: &mut Names) {
    let mut is_lifetime = false;
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    _ => ("(", ")"),
                };
                to.push(open.to_owned());
                flat(group.stream(), to);
                to.push(close.to_owned());
            }
            TokenTree::Ident(_) if is_lifetime => is_lifetime = false,
            TokenTree::Ident(ident) => to.push(ident.to_string()),
            TokenTree::Punct(punct) => match (punct.as_char(), to.last_mut()) {
                ('\'', _) => is_lifetime = true,
                (':', Some(last)) if last == ":" => last.push(':'),
                (sign, _) => to.push(sign.to_string()),
            },
            TokenTree::Literal(_) => to.push("\"\"".to_owned()),
        }
    }
}

fn is_ident(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The position at which the bracket that opens here closes.
fn close_of(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The position at which the item that begins here ends.
fn end_of_item(tokens: &[String], start: usize) -> usize {
    let mut at = start;
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" => return at + 1,
            "{" => return close_of(tokens, at) + 1,
            "(" | "[" => at = close_of(tokens, at),
            _ => {}
        }
        at += 1;
    }
    at
}

/// The leaves of a `use` tree, each as its path and the name that it gets; a `*` for all. Returns
/// the position after the tree.
fn leaves(tokens: &[String], start: usize, before: &Names, to: &mut Vec<(Names, String)>) -> usize {
    let mut path = before.clone();
    let mut at = start;
    loop {
        match tokens[at].as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = leaves(tokens, at, &path, to);
                    if tokens[at] == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "*" => {
                to.push((path, "*".to_owned()));
                return at + 1;
            }
            name => {
                path.push(name.to_owned());
                at += 1;
                if tokens[at] == "::" {
                    continue;
                }
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let mut name = path.last().cloned().unwrap_or_default();
                if tokens[at] == "as" {
                    name.clone_from(&tokens[at + 1]);
                    at += 2;
                }
                to.push((path, name));
                return at;
            }
        }
    }
}

impl Crate {
    fn load(&mut self, files: &Files, path: &Names, file: &Path) {
        let stream = TokenStream::from_str(&files[file]).unwrap();
        let mut tokens = Vec::new();
        flat(stream, &mut tokens);
        self.items(files, path, file, &tokens);
    }

    /// The file of a module that is declared in this one.
    fn child(files: &Files, file: &Path, name: &str) -> Option<PathBuf> {
        let is_root = ["lib.rs", "main.rs", "mod.rs"].map(Path::new);
        let folder = if is_root.iter().any(|root| file.ends_with(root)) {
            file.parent()?.to_owned()
        } else {
            file.with_extension("")
        };
        let beside = [
            folder.join(format!("{name}.rs")),
            folder.join(name).join("mod.rs"),
        ];
        beside.into_iter().find(|file| files.contains_key(file))
    }

    /// Adds the items of a module, whether it has its own file or not.
    fn items(&mut self, files: &Files, path: &Names, file: &Path, tokens: &[String]) {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        let (mut at, mut is_left_out, mut is_public) = (0, false, false);
        let mut inner: Vec<(String, &[String])> = Vec::new();
        let mut handed_on = BTreeSet::new();
        let mut bodies = Vec::new();
        while at < tokens.len() {
            let end = end_of_item(tokens, at);
            match tokens[at].as_str() {
                "#" => {
                    let open = at + 1 + usize::from(tokens[at + 1] == "!");
                    let close = close_of(tokens, open);
                    let words = &tokens[open..close];
                    let has = |word: &str| words.iter().any(|token| token == word);
                    is_left_out |= has("cfg") && (has("test") || has("doc")) && !has("not");
                    at = close + 1;
                    continue;
                }
                "pub" => {
                    is_public = true;
                    at += 1;
                    if tokens[at] == "(" {
                        at = close_of(tokens, at) + 1;
                    }
                    continue;
                }
                _ if is_left_out => {}
                "use" => {
                    let mut all = Vec::new();
                    leaves(tokens, at + 1, &Vec::new(), &mut all);
                    for (of, name) in all {
                        if name == "*" {
                            module.globs.push(of);
                            continue;
                        }
                        if is_public {
                            handed_on.insert(name.clone());
                        } else {
                            self.name(file, path, of.clone());
                        }
                        module.imported.insert(name, of);
                    }
                    // A tree has braces, too.
                    at = (at..tokens.len())
                        .find(|at| tokens[*at] == ";")
                        .unwrap_or(end)
                        + 1;
                    is_public = false;
                    continue;
                }
                "mod" => {
                    let name = tokens[at + 1].clone();
                    if tokens[at + 2] == "{" {
                        inner.push((name.clone(), &tokens[at + 3..end - 1]));
                    }
                    module.children.insert(name);
                }
                _ => {
                    let mut from = at;
                    while from + 1 < end && is_ident(&tokens[from]) {
                        if DEFINE.contains(&&*tokens[from]) && !DEFINE.contains(&&*tokens[from + 1])
                        {
                            module.defined.insert(tokens[from + 1].clone());
                            break;
                        }
                        from += 1;
                    }
                    // The rest of a tuple struct, or an initial value: the part after the first braces.
                    bodies.push((at, end));
                }
            }
            (at, is_left_out, is_public) = (end, false, false);
        }
        let children = module.children.clone();
        self.modules.insert(path.clone(), module);
        for (from, to) in bodies {
            self.body(file, path, &tokens[from..to]);
        }
        for (name, tokens) in &inner {
            let path = path.iter().cloned().chain([name.clone()]).collect();
            self.items(files, &path, file, tokens);
        }
        for name in children {
            let path: Names = path.iter().cloned().chain([name.clone()]).collect();
            if !self.modules.contains_key(&path)
                && let Some(child) = Self::child(files, file, &name)
            {
                self.load(files, &path, &child);
            }
        }
    }

    fn name(&mut self, file: &Path, module: &Names, path: Names) {
        self.named.push(Named {
            file: file.to_owned(),
            module: module.clone(),
            path,
        });
    }

    /// Adds the paths of an item: in its signature, in its body, in imports inside it.
    fn body(&mut self, file: &Path, module: &Names, tokens: &[String]) {
        let mut variants = BTreeSet::new();
        let mut at = 0;
        while at < tokens.len() {
            let before = at.checked_sub(1).map_or("", |at| &*tokens[at]);
            let behind = |at: usize| tokens.get(at + 1).map_or("", String::as_str);
            match tokens[at].as_str() {
                "enum" if is_ident(behind(at)) => variants = variants_of(tokens, at),
                "use" if behind(at) != "<" => {
                    let mut all = Vec::new();
                    at = leaves(tokens, at + 1, &Vec::new(), &mut all);
                    for (path, name) in all {
                        self.name(file, module, path.clone());
                        if let Some(known) = self.modules.get_mut(module) {
                            known.imported.entry(name).or_insert(path);
                        }
                    }
                    continue;
                }
                token if is_ident(token) && !variants.contains(&at) => {
                    let mut path = vec![token.to_owned()];
                    let start = at;
                    while behind(at) == "::"
                        && tokens.get(at + 2).is_some_and(|name| is_ident(name))
                    {
                        path.push(tokens[at + 2].clone());
                        at += 2;
                    }
                    // Members, definitions and fields are not names of the module.
                    let is_own = ["fn", "struct", "enum", "let", "mod", ".", "::"]
                        .contains(&before)
                        || start == at && behind(at) == ":";
                    if !is_own {
                        self.name(file, module, path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The path from the root of the crate; none for a path of another crate.
    fn absolute(&self, module: &[String], path: &[String], depth: usize) -> Option<Names> {
        let known = self.modules.get(module)?;
        let mut from = module.to_vec();
        let mut at = 1;
        match path.first()?.as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => {
                from.pop();
                while path.get(at).is_some_and(|name| name == "super") {
                    from.pop();
                    at += 1;
                }
            }
            name if known.children.contains(name) || known.defined.contains(name) => at = 0,
            name => {
                let of = known.imported.get(name)?;
                // A chain of names as long as this belongs to another crate.
                if depth > 8 || of.first().is_some_and(|first| first == name) {
                    return None;
                }
                from = self.absolute(module, of, depth + 1)?;
            }
        }
        from.extend_from_slice(&path[at..]);
        Some(from)
    }

    /// The file that defines this, and its name; no name for a module.
    fn definition(&self, path: &[String], depth: usize) -> Option<(PathBuf, Option<String>)> {
        if depth > 16 {
            return None;
        }
        let mut module = Vec::new();
        for (at, name) in path.iter().enumerate() {
            let known = &self.modules[&module];
            module.push(name.clone());
            if self.modules.contains_key(&module) {
                continue;
            }
            module.pop();
            let is_last = at + 1 == path.len();
            if known.defined.contains(name) {
                return is_last.then(|| (known.file.clone(), Some(name.clone())));
            }
            let globs = known.globs.iter().map(|glob| (glob, at));
            let named = known.imported.get(name).map(|of| (of, at + 1));
            let mut from = named.into_iter().chain(globs);
            return from.find_map(|(of, at)| {
                let mut of = self.absolute(&module, of, 0)?;
                of.extend_from_slice(&path[at..]);
                self.definition(&of, depth + 1)
            });
        }
        Some((self.modules[&module].file.clone(), None))
    }
}

/// The position of the variants of the enum that begins here.
fn variants_of(tokens: &[String], start: usize) -> BTreeSet<usize> {
    let Some(open) = (start..tokens.len()).find(|at| tokens[*at] == "{") else {
        return BTreeSet::new();
    };
    let (mut at, end) = (open + 1, close_of(tokens, open));
    let mut variants = BTreeSet::new();
    while at < end {
        match tokens[at].as_str() {
            "{" | "(" | "[" => at = close_of(tokens, at),
            _ if ["{", ",", "]"].contains(&&*tokens[at - 1]) => {
                variants.insert(at);
            }
            _ => {}
        }
        at += 1;
    }
    variants
}
