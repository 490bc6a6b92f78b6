// Lays the beam out as a tree: steps from left to right, leaves below each other. The path to the best candidate is the
// first at every fork, so that it is the top line.

export interface TreeNode {
  id: number
  parent: number | null
  text: string
  log_probability: number
  total: number
  step: number
  kept: boolean
  ended: boolean
}

export interface PlacedNode extends TreeNode {
  line: number // counted from the top
  children: number[] // indices of nodes
  up: number // index of the parent, or -1
}

export function placeTree(nodes: readonly TreeNode[]): PlacedNode[] {
  const placed: PlacedNode[] = nodes.map((n) => ({ ...n, line: 0, children: [], up: -1 }))
  const where = new Map(placed.map((n, i) => [n.id, i]))
  placed.forEach((n, i) => {
    if (n.parent === null) return
    n.up = where.get(n.parent) ?? -1
    if (n.up >= 0) placed[n.up]!.children.push(i)
  })
  const better = (a: number, b: number): number =>
    Number(placed[b]!.kept) - Number(placed[a]!.kept) || placed[b]!.total - placed[a]!.total
  let line = 0
  const visit = (i: number): void => {
    const node = placed[i]!
    node.children.sort(better)
    node.line = line
    node.children.forEach((child, k) => {
      if (k > 0) ++line
      visit(child)
    })
  }
  placed.forEach((n, i) => {
    if (n.up >= 0) return
    visit(i)
    ++line
  })
  return placed
}

// The nodes on the path to a node, without <s>.
export function pathTo(nodes: readonly PlacedNode[], i: number): PlacedNode[] {
  const path: PlacedNode[] = []
  for (let at = i; at >= 0 && nodes[at]!.up >= 0; at = nodes[at]!.up) path.unshift(nodes[at]!)
  return path
}

// The indices of the nodes of a candidate's tokens, as far as the tree has them.
export function pathOf(nodes: readonly PlacedNode[], tokens: readonly string[]): number[] {
  const path: number[] = []
  let at = nodes.findIndex((n) => n.up < 0)
  for (const text of tokens) {
    const next = nodes[at]?.children.filter((c) => nodes[c]!.text === text) ?? []
    if (next.length === 0) break
    at = next.find((c) => nodes[c]!.kept) ?? next[0]!
    path.push(at)
  }
  return path
}
