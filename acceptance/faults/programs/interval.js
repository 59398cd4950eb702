// https://github.com/nodejs/node/issues/21822: setInterval keeps drifting: the next interval is counted, in whole milliseconds, from when
// the last callback was run. Fixed: each timeout is computed from the start and the tick's number.
'use strict';
const fs = require('fs');
const fixed = process.argv[2] === 'fixed';
const PERIOD = 10, TICKS = 250;
const late = [];

function workUs(us) {
  let x = us | 1;
  for (let i = 0; i < us * 300; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  return x;
}

function report() {
  const missed = late.filter((ms) => ms > PERIOD / 2).length;
  late.sort((a, b) => a - b);
  console.log(`p99_ms=${late[Math.floor(TICKS * 0.99)].toFixed(2)} missed=${missed}`);
  process.exit(0);
}

setInterval(() => fs.readFile('/proc/self/stat', () => {}), 100); // metrics
const start = performance.now();

function sample() { // reads a sensor every 10 ms
  late.push(performance.now() - start - (late.length + 1) * PERIOD);
  workUs(2000);
  if (late.length === TICKS) report();
}

function next() {
  setTimeout(() => { sample(); next(); }, start + (late.length + 1) * PERIOD - performance.now());
}

if (fixed) next();
else setInterval(sample, PERIOD);
