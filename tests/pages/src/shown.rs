//! What pages show of other files is what is in them.

/// The program without the comment at its top.
fn quickstart() -> &'static str {
    let program = include_str!("../../../examples/quickstart/src/main.rs");
    program.split_once("\n\n").unwrap().1
}

#[test]
fn the_readme_and_the_book_show_the_program_that_runs() {
    for page in [
        include_str!("../../../README.md"),
        include_str!("../../../docs/book/src/quickstart.md"),
    ] {
        assert!(page.contains(quickstart()));
    }
}

/// The last cells of the tables below a heading that say how many times more or less.
fn ratios(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_suffix(" |"));
    let cells = rows.filter_map(|row| row.rsplit("| ").next());
    let is_ratio = |cell: &&str| {
        let digits = cell.strip_prefix("1/").unwrap_or(cell);
        digits.contains('.') && digits.parse::<f64>().is_ok()
    };
    cells.filter(is_ratio).collect()
}

#[test]
fn every_ratio_that_a_page_quotes_is_in_the_measured_report() {
    let measured = include_str!("../../../docs/benchmarks.md");
    let readme = ratios(include_str!("../../../README.md"));
    let book = ratios(include_str!("../../../docs/book/src/benchmarks.md"));
    assert!(readme.len() > 3 && book.len() > 15, "{readme:?}, {book:?}");
    for ratio in readme.into_iter().chain(book) {
        let cell = format!("| {ratio} |");
        assert!(measured.contains(&cell), "{ratio} was not measured");
    }
}
