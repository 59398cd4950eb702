//! The systemd unit of `corewise watch`.

use std::net::SocketAddr;
use std::path::Path;

/// Returns a hardened unit that runs a binary, listening on an address, with options that say what is watched, and the token of a file.
#[must_use]
pub fn unit(binary: &Path, listen: SocketAddr, chosen: &[String], token: Option<&Path>) -> String {
    let credential = token.map_or_else(String::new, |path| {
        format!(
            "# The token, which only root can read: `openssl rand -hex 32 > FILE; chmod 600 FILE`.\nLoadCredential=token:{}\n",
            path.display().to_string().replace('%', "%%")
        )
    });
    let token = if token.is_some() { " --token-file %d/token" } else { "" };
    let chosen: String = chosen.iter().map(|argument| format!(" {}", quoted(argument))).collect();
    let binary = quoted(&binary.display().to_string());
    let addresses = if listen.ip().is_loopback() { "IPAddressDeny=any\nIPAddressAllow=localhost\n" } else { "" };
    format!(
        "\
# corewise watch: scheduling by core type and SMT sibling, for Prometheus. Printed by `corewise watch --unit`.
#   corewise watch --unit | sudo tee /etc/systemd/system/corewise-watch.service
#   sudo systemctl daemon-reload && sudo systemctl enable --now corewise-watch

[Unit]
Description=corewise watch: scheduling figures for Prometheus
Documentation=man:corewise(1)
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart={binary} watch --listen {listen}{chosen}{token}
{credential}Restart=on-failure
RestartSec=5

# A user of its own, with the rights to load BPF programs and read their sums, and no others.
DynamicUser=yes
CapabilityBoundingSet=CAP_BPF CAP_PERFMON
AmbientCapabilities=CAP_BPF CAP_PERFMON
NoNewPrivileges=yes
SecureBits=noroot-locked

# It reads /proc and /sys (names of threads, the topology, cpu.stat of cgroups) and writes nothing.
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
UMask=0077

RestrictAddressFamilies=AF_INET AF_INET6
{addresses}RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service bpf perf_event_open
SystemCallErrorNumber=EPERM

# The sums in the kernel are counted here too; the figures of its own use are in watch_kernel_memory_bytes.
MemoryMax=256M
TasksMax=32
# Each event that a CPU counts is a file.
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
"
    )
}

/// Returns an argument of ExecStart= as systemd reads it back.
fn quoted(argument: &str) -> String {
    let escaped: String = argument
        .chars()
        .map(|c| match c {
            '%' => "%%".to_owned(),
            '$' => "$$".to_owned(),
            '"' | '\\' => format!("\\{c}"),
            '\n' => "\\n".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let is_plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "/.-_:@,=%$".contains(c));
    if is_plain && !argument.is_empty() { escaped } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[ignore = "needs systemd-analyze"]
    fn systemd_accepts_the_unit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("corewise-watch.service");
        // A binary that exists, since systemd looks for it.
        let chosen = ["--cgroup".to_owned(), "/a \"b\"\\ 100%$x;".to_owned()];
        for (listen, token) in [("127.0.0.1:9464", None), ("0.0.0.0:9464", Some(Path::new("/etc/corewise/token")))] {
            let text = unit(Path::new("/bin/true"), listen.parse().unwrap(), &chosen, token);
            assert_eq!(text.contains("IPAddressDeny=any"), token.is_none());
            assert_eq!(text.contains("--token-file %d/token"), token.is_some());
            assert!(text.contains(r#" --cgroup "/a \"b\"\\ 100%%$$x;""#), "{text}");
            std::fs::write(&file, text).unwrap();
            let output = Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(&file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("corewise")).collect();
            assert!(output.status.success() && of_ours.is_empty(), "{said}");
        }
    }
}
