import { part } from "./parts.mjs";

await part(2);
