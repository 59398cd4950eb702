//! Measures how fast a long trace is read: `COREWISE_CTF=FOLDER cargo test --release … -- --ignored --nocapture speed`.

use import::formats::ctf::Ctf;
use ingest::{Anomalies, Folder, Importer, Input, ReadSeek};
use model::Batch;
use std::path::PathBuf;
use std::time::Instant;

struct OnDisk(PathBuf);

impl Folder for OnDisk {
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap());
        entries.filter(|e| e.path().is_file()).map(|e| e.file_name().into_string().unwrap()).collect()
    }
    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        Ok(Box::new(std::fs::File::open(self.0.join(name))?))
    }
}

#[test]
#[ignore = "needs COREWISE_CTF"]
fn speed() {
    let folder = std::env::var_os("COREWISE_CTF").unwrap();
    for _ in 0..3 {
        let before = Instant::now();
        let opened = Ctf.open(Input::Folder(Box::new(OnDisk(PathBuf::from(&folder))))).unwrap();
        let (mut batch, mut anomalies, mut events) = (Batch::default(), Anomalies::default(), 0);
        for mut stream in opened.streams {
            while stream.next(&mut batch, &mut anomalies).unwrap() != ingest::Reach::End {
                events += batch.events.len();
                batch.clear();
            }
            events += batch.events.len();
            batch.clear();
        }
        let seconds = before.elapsed().as_secs_f64();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default();
        eprintln!("{events} events, {seconds:.3} s: {:.2} million/s; {peak}", events as f64 / seconds / 1e6);
    }
}
