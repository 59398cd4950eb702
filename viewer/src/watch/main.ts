/** The page of `corewise watch`: reads the sums each second and draws what happened in the last seconds. */

import { element } from "../ui/dom";
import { drawCores, updateCores } from "./cores";
import { drawGroups } from "./groups";
import { drawLegend, setColours } from "./legend";
import { rates, type Now } from "./rates";
import { drawTiles } from "./tiles";

const EACH_MS = 1000;
/** The readings of the longest window and one more. */
const KEPT = 62;

let readings: Now[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let drawn = "";

const seconds = () => Number(element<HTMLSelectElement>("window").value);
const isPaused = () => element("pause").getAttribute("aria-pressed") === "true";

async function read(): Promise<void> {
  const token = sessionStorage.getItem("token");
  const answer = await fetch("/api/now", { headers: token === null ? {} : { Authorization: `Bearer ${token}` } });
  element("token-form").hidden = answer.status !== 401;
  if (answer.status === 401) throw new Error(token === null ? "the figures need a token" : "this token is not right");
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  const now = (await answer.json()) as Now;
  if (readings.length > 0 && readings.at(-1)!.started_ns !== now.started_ns) readings = [];
  // An answer may be of the same reading.
  if (readings.at(-1)?.at_ns !== now.at_ns) readings.push(now);
  if (readings.length > KEPT) readings.shift();
}

async function tick(): Promise<void> {
  clearTimeout(timer);
  if (!document.hidden && !isPaused()) {
    try {
      await read();
      element("error").textContent = "";
      draw();
    } catch (why) {
      const text = why instanceof TypeError ? "no answer from corewise watch" : (why as Error).message;
      element("error").textContent = `${text[0]!.toUpperCase()}${text.slice(1)}.`;
    }
  }
  timer = setTimeout(() => void tick(), EACH_MS);
}

/** Draws the difference of the last reading and the one that is nearest to the beginning of the window. */
function draw(): void {
  const now = readings.at(-1);
  if (!now) return;
  const from = now.at_ns - seconds() * 1e9;
  const earlier = readings.slice(0, -1);
  const before = earlier.find((reading) => reading.at_ns >= from - 0.4e9) ?? earlier.at(-1);
  const found = before ? rates(before, now) : null;
  const machine = JSON.stringify(now.cpus.map(({ cpu, online }) => [cpu, online]));
  if (machine !== drawn) {
    drawn = machine;
    element("machine").textContent = now.model_name ?? "";
    drawCores(now);
    drawLegend(now);
  }
  updateCores(now, found);
  drawTiles(now, found);
  drawGroups(now, found);
  const since = Math.round((now.at_ns - now.started_ns) / 1e9);
  element("status").textContent = found ? `Means of the last ${found.seconds.toFixed(1)} s; watching for ${since} s; corewise ${now.version}` : "Reading…";
}

function theme(): void {
  const chosen = element<HTMLSelectElement>("theme").value;
  setColours(chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches));
}

element("theme").addEventListener("change", theme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
element("window").addEventListener("change", draw);
element("pause").addEventListener("click", () => {
  const paused = !isPaused();
  element("pause").setAttribute("aria-pressed", String(paused));
  element("pause").textContent = paused ? "Go on" : "Pause";
  void tick();
});
element("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", element<HTMLInputElement>("token").value.trim());
  void tick();
});
document.addEventListener("visibilitychange", () => void tick());
theme();
void tick();
