import { defineConfig } from "vite";

// The app is served at "/", its files below "/webui/". `npm run dev` passes everything else on to a running server.
export default defineConfig({
  base: "/webui/",
  build: {
    outDir: "../src/mlxp_webui/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
  server: {
    proxy: { "^/(v1|health|stats|fit|library|downloads|webui/pages)": "http://127.0.0.1:8090" },
  },
});
