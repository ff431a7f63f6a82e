//! Functions without symbols, by the tables in which interpreters name them: `PyMethodDef` of CPython and
//! `zend_function_entry` of PHP. In both an entry has 32 bytes: the address of a name, then that of a function.

use super::elf::Elf;
use super::generators::{Generator, PHP, PYTHON, Work};

const ENTRY_BYTES: u64 = 32;

/// The entries on each side of the one that is sought in which the others of its table may be.
const NEAR: u64 = 8;

/// A name that no other table has, and the functions near it.
type Table = (
    &'static str,
    &'static Generator,
    &'static [(&'static str, Work)],
);

static TABLES: [Table; 2] = [
    (
        "getrandbits",
        &PYTHON,
        &[
            ("random", Work::Draw),
            ("getrandbits", Work::Draw),
            ("seed", Work::Seed(None)),
        ],
    ),
    ("mt_srand", &PHP, &[("mt_srand", Work::Seed(None))]),
];

/// The addresses of the functions.
pub(super) fn functions(elf: &Elf) -> Vec<(u64, &'static Generator, Work)> {
    let tables = TABLES.iter();
    tables.flat_map(|table| of_table(elf, table)).collect()
}

fn of_table(
    elf: &Elf,
    (anchor, generator, wanted): &Table,
) -> Vec<(u64, &'static Generator, Work)> {
    let names = elf.addresses_of(anchor).into_iter();
    let entries = names.flat_map(|name| elf.words_equal_to(name));
    let near = entries.flat_map(|entry| {
        let first = entry.saturating_sub(NEAR * ENTRY_BYTES);
        (0..2 * NEAR).map(move |index| first.wrapping_add(index * ENTRY_BYTES))
    });
    let functions = near.filter_map(|at| {
        let name = elf.text(elf.word(at)?)?;
        let (_, work) = wanted.iter().find(|(one, _)| *one == name)?;
        // Other tables have the names, and no functions beside them.
        let function = elf
            .word(at.wrapping_add(8))
            .filter(|function| elf.is_code(*function))?;
        Some((function, *generator, *work))
    });
    functions.collect()
}
