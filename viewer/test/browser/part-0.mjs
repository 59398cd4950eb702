import { part } from "./parts.mjs";

await part(0);
