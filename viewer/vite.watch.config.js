import { defineConfig } from "vite";

// The page of `corewise watch`. Its server's security policy allows only its own files, as that of the viewer does.
export default defineConfig({
  root: "watch",
  base: "/",
  publicDir: "../public",
  build: { outDir: "../dist-watch", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
