//! The docs show what `Bucketed` generates for the trades of MongoDB's manual: `docs/generated.md`.
//!
//! After a deliberate change: `UPDATE_GENERATED=1 cargo test -p bucket-derive generated`, and read the diff.

use std::{env, fs, path::Path};

use syn::{DeriveInput, parse_quote};

use crate::{diagnostics::Diagnostics, expand, model};

#[test]
fn the_docs_show_the_generated_code() {
    let shown = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/docs/generated.md");
    let generated = document(&trades());
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&shown, &generated).unwrap();
    }
    let shown = fs::read_to_string(&shown).unwrap();
    let differs = shown.lines().zip(generated.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(shown.lines().count(), generated.lines().count());
}

fn trades() -> DeriveInput {
    parse_quote! {
        #[derive(Serialize, Deserialize, Bucketed)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "trades", items = "history", capacity = 10)]
        pub struct Trade {
            #[bucket(key)]
            pub customer_id: i64,
            #[bucket(time)]
            pub date: DateTime,
            pub ticker: String,
            #[bucket(max)]
            pub qty: i32,
        }
    }
}

/// The struct and the code for it, each in a block.
fn document(input: &DeriveInput) -> String {
    let mut cx = Diagnostics::new();
    let model = model::build(&mut cx, input);
    assert!(cx.finish().is_none(), "the example has no mistakes");
    let given = printed(&parse_quote!(#input));
    let generated = expand::full(&model);
    let generated = printed(&parse_quote!(#generated));
    format!(
        "\n# The generated code\n\nFor the struct\n\n```rust,ignore\n{given}```\n\nthe derive generates this \
         code. `__private` is not part of the public contract.\n\n<details><summary>The generated \
         code</summary>\n\n```rust,ignore\n{generated}```\n\n</details>\n"
    )
}

/// Formatted, without the notes for the compiler.
fn printed(file: &syn::File) -> String {
    let text = prettyplease::unparse(file);
    let mut shown = String::new();
    for line in text.lines() {
        if line.trim() != "#[automatically_derived]" {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    shown
}
