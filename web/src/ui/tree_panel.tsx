// The beam as a tree. The arrow keys move between nodes; a node can be chosen as a forced prefix.
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { t } from '../i18n'
import { isolated, shown } from '../model/text'
import { pathTo, type TreeNode } from '../model/tree'
import { prefixBefore } from '../model/whatif'
import { first, opened } from '../state/answers'
import { dark, record } from '../state/derived'
import { hover, hovered, set } from '../state/store'
import { beam } from '../views/beam'
import { inkNow, prepare } from './canvas_view'
import { exportedPicture, useExportedPicture } from './exported_picture'

function Tree({ nodes, tokens }: { nodes: TreeNode[]; tokens: string[] }) {
  const scene = useMemo(() => beam(nodes, tokens), [nodes, tokens])
  const [node, setNode] = useState(-1)
  const base = useRef<HTMLCanvasElement>(null)
  const over = useRef<HTMLCanvasElement>(null)
  const isDark = dark.value
  useEffect(() => scene.paint(prepare(base.current!, scene.width, scene.height, inkNow())), [scene, isDark])
  useEffect(
    () =>
      effect(() => {
        const painter = prepare(over.current!, scene.width, scene.height, inkNow())
        const b = node >= 0 ? scene.boxOfNode(node) : null
        if (b) painter.rect(b.x - 1, b.y - 1, b.w + 2, b.h + 2, { stroke: painter.ink.link, width: 2, radius: 4 })
        else scene.light(painter, hovered.value)
      }),
    [scene, node],
  )
  useExportedPicture({ title: t('view.tree'), note: t('tree.about'), scene, tint: null, grids: [] }, [scene])

  const visit = (i: number): void => {
    setNode(i)
    hover(scene.best.indexOf(i), -1)
  }
  const force = (i: number): void => {
    const n = scene.nodes[i]
    const target = record.peek()?.target
    if (!n || !target || n.up < 0) return
    const path = pathTo(scene.nodes, n.up).map((p) => p.text)
    if (scene.best.includes(i)) return set({ row: path.length })
    // The exact text if the path is a prefix of the candidate that is shown; else the joined texts of the tokens.
    const known = scene.best.includes(n.up) || path.length === 0
    set({ prefix: known ? prefixBefore(target, path.length) : path.join(' '), path, next: n.text, row: path.length })
  }
  const key = (event: KeyboardEvent): void => {
    const all = scene.nodes
    const n = all[Math.max(0, node)]!
    const family = n.up >= 0 ? all[n.up]!.children : [0]
    const place = family.indexOf(Math.max(0, node))
    const near = (by: number): number => {
      if (family[place + by] !== undefined) return family[place + by]!
      const level = all
        .map((_, i) => i)
        .filter((i) => all[i]!.step === n.step)
        .sort((a, b) => all[a]!.line - all[b]!.line)
      return level[level.indexOf(Math.max(0, node)) + by] ?? -1
    }
    const to = { ArrowRight: n.children[0] ?? -1, ArrowLeft: n.up, ArrowDown: near(1), ArrowUp: near(-1) }[event.key]
    if (event.key === 'Enter' || event.key === ' ') force(node)
    else if (to === undefined) return
    else if (to >= 0) {
      visit(to)
      const b = scene.boxOfNode(to)
      const pane = base.current!.closest('.pane')!
      if (b.x < pane.scrollLeft || b.x + b.w > pane.scrollLeft + pane.clientWidth)
        pane.scrollLeft = b.x - pane.clientWidth / 2
    }
    event.preventDefault()
  }
  const at = (event: MouseEvent): number => {
    const box = base.current!.getBoundingClientRect()
    return scene.nodeAt(event.clientX - box.left, event.clientY - box.top)
  }
  const say = (): string => {
    const n = scene.nodes[node]
    if (!n) return '\u00a0'
    const path = pathTo(scene.nodes, node)
      .map((p) => shown(p))
      .join(' ')
    const more = [n.kept ? t('tree.kept') : '', n.ended ? t('tree.ended') : ''].filter(Boolean).join(t('comma'))
    return (
      t('tree.node', { path: isolated(path || shown(n)), total: n.total.toFixed(2), step: n.step }) +
      (more ? ` (${more})` : '')
    )
  }
  const size = { width: `${scene.width}px`, height: `${scene.height}px` }
  return (
    <>
      <p class="status-line" role="status" aria-live="polite">
        {node >= 0 ? say() : t('tree.about')}
      </p>
      <div class="pane">
        <div
          class="stage"
          style={size}
          tabIndex={0}
          role="application"
          aria-label={t('view.tree')}
          onKeyDown={key}
          onFocus={(event) => (event.currentTarget as HTMLElement).matches(':focus-visible') && node < 0 && visit(0)}
          onPointerMove={(event) => visit(at(event))}
          onPointerLeave={() => visit(-1)}
          onClick={(event) => force(at(event))}
        >
          <canvas ref={base} style={size} aria-hidden="true" />
          <canvas ref={over} style={size} class="over" aria-hidden="true" />
        </div>
      </div>
    </>
  )
}

export function TreePanel() {
  const nodes = first.value?.tree ?? []
  const target = record.value?.target
  const tokens = useMemo(() => target?.tokens.map((token) => token.text) ?? [], [target])
  useEffect(() => {
    if (nodes.length === 0) exportedPicture.value = null
  }, [nodes])
  if (nodes.length === 0 && opened.value) return <p>{t('tree.saved')}</p>
  if (nodes.length === 0) {
    return (
      <p>
        {t('tree.none')}{' '}
        <button type="button" onClick={() => set({ beam: 4, nbest: 3, sample: false })}>
          {t('tree.beam')}
        </button>
      </p>
    )
  }
  return <Tree nodes={nodes} tokens={tokens} />
}
