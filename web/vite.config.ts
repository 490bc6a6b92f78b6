// How the page is built: one script, another for the tour, and one sheet, with hashed names, nothing inline, so that the strictest
// Content-Security-Policy can be served with it. In development the mock answers unless FOVEA_URL names a server.
import { defineConfig, type Plugin } from 'vite'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'

const server = process.env.FOVEA_URL

const mock: Plugin = {
  name: 'fovea-mock',
  apply: 'serve',
  async configureServer(vite) {
    const { answer } = (await import(fileURLToPath(new URL('./mock/server.mjs', import.meta.url)))) as {
      answer: (request: IncomingMessage, response: ServerResponse) => void
    }
    vite.middlewares.use((request, response, next) => {
      if (!request.url?.startsWith('/v1/')) return next()
      answer(request, response)
    })
  },
}

// The page without a server, whose engine runs in a worker (docs/browser.md): vite build --mode static.
const kStaticPolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'"
const withoutServer: Plugin = {
  name: 'fovea-static',
  transformIndexHtml: {
    order: 'pre',
    handler: (html) =>
      html
        .replace('/src/main.tsx', '/src/static/main.ts')
        .replace(
          '<meta name="viewport"',
          `<meta http-equiv="Content-Security-Policy" content="${kStaticPolicy}" />\n    $&`,
        ),
  },
}

export default defineConfig(({ mode }) => ({
  base: './',
  plugins: mode === 'static' ? [withoutServer] : server ? [] : [mock],
  server: server ? { proxy: { '/v1': server } } : {},
  esbuild: { legalComments: 'none' },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: { manualChunks: (id) => (/\/(ui\/tour\.tsx|i18n\/zh\.ts)$/.test(id) ? undefined : 'page') },
    },
  },
  worker: { format: 'es' },
  test: { include: ['tests/unit/**/*.test.ts'], testTimeout: 0 }, // no test depends on time; ctest ends one that hangs
}))
