import { defineConfig } from "vite";

// The server's security policy lets nothing in that is not a file of our own: no inline scripts, no data addresses.
export default defineConfig({
  base: "/",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
