//! The book has all of its pages, and its links work in the built site.

use std::{fs, path::Path};

use crate::tree::{BOOK, Tree, with_included};

/// The names of the pages, without their ending.
fn pages(tree: &Tree) -> Vec<&str> {
    let folder = Path::new(BOOK);
    let files = tree
        .paths
        .iter()
        .filter(|path| path.parent() == Some(folder));
    let pages = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let stems = pages.filter_map(|path| path.file_stem()?.to_str());
    stems.filter(|stem| *stem != "SUMMARY").collect()
}

/// The targets of the links of a page, figures too.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_page_of_the_book_is_in_its_summary_and_is_tested() {
    let tree = Tree::read();
    let summary = fs::read_to_string(tree.root.join(BOOK).join("SUMMARY.md")).unwrap();
    let tested = include_str!("lib.rs");
    let pages = pages(&tree);
    assert!(pages.len() > 30, "{} pages", pages.len());
    for page in &pages {
        assert!(
            summary.contains(&format!("({page}.md)")),
            "{page} is not in the summary"
        );
        assert!(
            tested.contains(&format!("{BOOK}/{page}.md")),
            "the code of {page} is not compiled"
        );
    }
    assert_eq!(links(&summary).count(), pages.len());
}

#[test]
fn every_figure_of_the_book_is_shown() {
    let tree = Tree::read();
    let folder = Path::new(BOOK);
    let texts = pages(&tree)
        .into_iter()
        .map(|page| with_included(&tree.root.join(folder).join(format!("{page}.md"))));
    let all = texts.collect::<String>();
    let figures = folder.join("figures");
    let mut files = tree
        .paths
        .iter()
        .filter(|path| path.parent() == Some(&figures))
        .peekable();
    assert!(files.peek().is_some());
    for file in files {
        let link = format!("(figures/{})", file.file_name().unwrap().to_str().unwrap());
        assert!(all.contains(&link), "no page shows {link}");
    }
}

#[test]
fn no_link_of_the_book_leads_out_of_the_built_site() {
    let tree = Tree::read();
    for page in pages(&tree) {
        let text = with_included(&tree.root.join(BOOK).join(format!("{page}.md")));
        for link in links(&text).filter(|link| !link.contains("://")) {
            assert!(
                !link.starts_with("..") && !link.starts_with('/'),
                "{page}: {link}"
            );
            let file = link.split('#').next().unwrap();
            let there = file.is_empty() || tree.root.join(BOOK).join(file).is_file();
            assert!(there, "{page}: {link}");
        }
    }
}
