//! Names of callchains that are stored after the folder was written.

use ingest::Facts;
use model::{NameId, StackFrame, Stacks, Table, Value, tables};
use safefs::Access;
use std::path::Path;
use store::{Folder, FolderWriter, Manifest, WriterOptions};
use topology::Machine;

fn write(at: &Path) {
    let machine = Machine::default();
    let options = WriterOptions { machine: &machine, sources: 0 };
    let mut w = FolderWriter::create(at, Access::Private, options).unwrap();
    w.names(&["/bin/program".into()]).unwrap();
    let frame = StackFrame { file: NameId(1), offset: 16, ..StackFrame::at(0x1010) };
    w.stacks(&[[frame].into(), [frame, StackFrame::at(5)].into()]).unwrap();
    let mut manifest = Manifest::new(7, Facts::default());
    manifest.facts.nameless = vec!["before".to_owned()];
    w.finish(manifest).unwrap();
}

/// Names the first frame of each chain, and puts an inlined one before it.
fn named(of: &Stacks, function: &str) -> Stacks {
    let mut names = of.names.clone();
    names.push(function.into());
    let id = NameId(names.len() as u32);
    let chains = of.chains.iter().map(|chain| {
        let first = StackFrame { function: id, line: 3, ..chain[0] };
        let inlined = StackFrame { inlined: true, source: id, ..first };
        [inlined, first].into_iter().chain(chain[1..].iter().copied()).collect()
    });
    Stacks { chains: chains.collect(), names }
}

#[test]
fn names_are_replaced_and_the_recorded_callchains_stay() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("run.cw");
    write(&at);
    let recorded = std::fs::read(at.join("events/stack.parquet")).unwrap();
    let mut folder = Folder::open(&at).unwrap();
    let before = folder.stacks().unwrap();
    let mut samples = Table::new(&tables::SAMPLES);
    let cell = |col: &model::Col| match col.kind {
        model::Kind::Text => Value::Text("x".into()),
        _ => Value::Int(1),
    };
    samples.rows.push(tables::SAMPLES.cols.iter().map(cell).collect());
    folder.write_table(&samples).unwrap();
    assert!(folder.has(&tables::SAMPLES));
    for function in ["first", "second", "third"] {
        let names = named(&before, function);
        folder.store_symbolized(&names, vec![function.to_owned()], &[&tables::SAMPLES]).unwrap();
        for folder in [&folder, &Folder::open(&at).unwrap()] {
            let stacks = folder.stacks().unwrap();
            assert_eq!(stacks.chains.iter().map(|chain| chain.len()).collect::<Vec<_>>(), [2, 3]);
            let [inner, outer] = [stacks.chains[0][0], stacks.chains[0][1]];
            assert_eq!((inner.inlined, outer.inlined, outer.line), (true, false, 3));
            assert_eq!(stacks.name(outer.function), Some(function));
            assert_eq!(stacks.name(inner.source), Some(function));
            assert_eq!(folder.manifest().all_facts().lacks, [function]);
            assert!(!folder.has(&tables::SAMPLES), "it is made again");
        }
        let files = std::fs::read_dir(at.join("events")).unwrap().count();
        assert_eq!(files, 2, "the recorded callchains, and those with the last names");
    }
    assert_eq!(std::fs::read(at.join("events/stack.parquet")).unwrap(), recorded);
}
