//! The server: where it listens, how long, and what it says of the recording.

use crate::connections::{Caller, Connections};
use crate::findings::Findings;
use crate::guard::Guard;
use crate::kinds;
use crate::questions::Questions;
use crate::routes::{App, Door, Seen, routes};
use crate::{Prepared, ServeError, Tracks};
use engine::{Machine, Session};
use model::{CpuState, ThreadState};
use serde_json::{Value as Json, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;

/// Where it listens and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// On which address; others than loopback only where the user asked for it.
    pub listen: IpAddr,
    /// 0: any that is free.
    pub port: u16,
    /// Ends when nobody asked for so long.
    pub idle: Option<Duration>,
}

/// A trace, ready to be shown.
pub struct Trace {
    /// To ask.
    pub session: Session,
    /// Which thread is where.
    pub tracks: Tracks,
    /// What is drawn.
    pub levels: Prepared,
}

/// A server that listens already, and answers once it runs.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    at: SocketAddr,
    door: Arc<Door>,
    first: Arc<App>,
    beside: Option<Arc<App>>,
    idle: Option<Duration>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// The address is taken or not ours, or the system gives no threads or random numbers.
    pub fn bind(session: Session, tracks: Tracks, levels: Prepared, options: &Options) -> Result<Self, ServeError> {
        Self::of(Trace { session, tracks, levels }, None, options)
    }

    /// Listens for two traces, side by side.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_two(first: Trace, second: Trace, options: &Options) -> Result<Self, ServeError> {
        Self::of(first, Some(second), options)
    }

    fn of(first: Trace, beside: Option<Trace>, options: &Options) -> Result<Self, ServeError> {
        let start = |e: &dyn std::fmt::Display| ServeError::Start(e.to_string());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(2).build().map_err(|e| start(&e))?;
        let at = SocketAddr::new(options.listen, options.port);
        let listener = runtime.block_on(async { listen(at) }).map_err(|why| ServeError::Listen { at, why })?;
        let at = listener.local_addr().map_err(|e| start(&e))?;
        let guard = Guard::new(at.port(), !at.ip().is_loopback()).map_err(|e| start(&e))?;
        let door = Arc::new(Door { guard, seen: Seen::new() });
        let two = beside.is_some();
        let first = Arc::new(app(first, two).map_err(|e| start(&e))?);
        let beside = beside.map(|trace| app(trace, two)).transpose().map_err(|e| start(&e))?.map(Arc::new);
        Ok(Self { runtime, listener, at, door, first, beside, idle: options.idle })
    }

    /// Where it listens.
    #[must_use]
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// The address for a browser on this machine, with the token.
    #[must_use]
    pub fn address(&self) -> String {
        let at = match self.at.ip() {
            // All addresses of the machine: from here it is reached by this one.
            IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(IpAddr::from([127, 0, 0, 1]), self.at.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => {
                SocketAddr::new(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), self.at.port())
            }
            _ => self.at,
        };
        format!("http://{at}/?token={}", self.door.guard.token())
    }

    /// Answers until nobody asked for as long as was said, else for ever.
    ///
    /// # Errors
    /// The system does not let it.
    pub fn run(self) -> Result<(), ServeError> {
        let Self { runtime, listener, door, first, beside, idle, .. } = self;
        runtime.block_on(async move {
            let routes = routes(Arc::clone(&door), first, beside).into_make_service_with_connect_info::<Caller>();
            let served = axum::serve(Connections::new(listener), routes);
            let ended = async {
                match idle.map(|idle| idle.as_millis() as u64) {
                    None => std::future::pending().await,
                    Some(idle) => loop {
                        let ago = door.seen.ago_ms();
                        if ago >= idle {
                            break;
                        }
                        tokio::time::sleep(Duration::from_millis(idle - ago)).await;
                    },
                }
            };
            tokio::select! {
                served = served => served.map_err(|e| ServeError::Start(e.to_string())),
                () = ended => Ok(()),
            }
        })
    }
}

/// So many may wait to be accepted. Whose place there is taken by others tries again after a second, then after three.
const WAITING: u32 = 4096;

fn listen(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of the last run that still end do not keep its port.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(WAITING)
}

/// What answers for a trace, with threads of its own.
fn app(trace: Trace, two: bool) -> std::io::Result<App> {
    let Trace { session, tracks, levels } = trace;
    let about = about(&session, &tracks, &levels, two).to_string();
    let session = Arc::new(session);
    let moments = Questions::of(Arc::clone(&session), "moments", 32)?;
    let times = Questions::of(session, "times", 8)?;
    Ok(App { levels, tracks, about, moments, times, findings: Findings::default() })
}

/// What the page must know first; `two`: of two traces it is one.
pub(crate) fn about(session: &Session, tracks: &Tracks, levels: &Prepared, two: bool) -> Json {
    let summary = session.summary();
    let name = session.path().canonicalize().ok();
    let name = name.as_deref().unwrap_or(session.path()).file_name().map(|n| n.to_string_lossy().into_owned());
    json!({
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "two": two,
        "span_ns": summary.span_ns,
        "threads": tracks.len(),
        "switches": summary.switches,
        "ready_known": summary.ready_known,
        "lost_events": summary.lost_events,
        "model_name": session.machine().model_name,
        "cpus": cpus(session.machine()),
        "thread_states": ThreadState::ALL.map(ThreadState::as_str),
        "cpu_states": CpuState::ALL.map(CpuState::as_str),
        "kinds": kinds_shown(session, levels),
        "widths_ns": levels.threads.widths().collect::<Vec<_>>(),
    })
}

/// What the page must know of the kinds of track; frames stand against their budget where one was said.
fn kinds_shown(session: &Session, levels: &Prepared) -> Vec<Json> {
    let frames = session.budget().filter(|_| session.frames_of().is_none());
    let told = levels.kinds.iter().map(|(shown, _)| match frames {
        Some(budget) if shown.kind == "frames" => json!(kinds::frames::against(shown, budget.0)),
        _ => json!(shown),
    });
    told.collect()
}

/// The CPUs in the order of their tracks: what shares a package, a cluster and a core stands together, the fastest cores first.
fn cpus(machine: &Machine) -> Vec<Json> {
    let mut cpus: Vec<_> = machine.cpus.iter().collect();
    cpus.sort_by_key(|c| {
        let class = std::cmp::Reverse(machine.core_class(c.id));
        // A machine may tell who shares a core, and no number of it.
        let first = c.siblings.iter().copied().min().map_or(c.id, |sibling| sibling.min(c.id));
        (c.package, class, c.die, c.cluster, c.core, first, c.id)
    });
    let cpu = |c: &&_| {
        let c: &engine::Cpu = c;
        json!({
            "cpu": c.id.0,
            "online": c.online,
            "package": c.package,
            "die": c.die,
            "cluster": c.cluster,
            "core": c.core,
            "siblings": c.siblings.iter().map(|s| s.0).collect::<Vec<_>>(),
            "core_class": machine.core_class(c.id),
            "core_type": machine.core_type(c.id).as_str(),
            "vendor_type": c.vendor_type,
        })
    };
    cpus.iter().map(cpu).collect()
}
