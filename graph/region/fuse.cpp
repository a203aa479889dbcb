// fuse_nests: neighbouring array statements as one loop over memory.
//
// A statement is a nest that computes into memory of the region's own and, where something else is to see the
// result, a second one that copies it there (`commit`) once no flag was up. Statements of one extent that
// follow each other become one group: a nest that computes all of them, values going from one to the next in
// registers, then one that makes all copies, in their order.
//
// What makes that right:
// - Until its copies a group changes only memory that nothing has seen yet, so whatever leaves on the way may
//   leave through the group's first exit: Python goes on in front of the group and does all of it.
// - Instructions on scalars between the statements do not read what a group writes; they move in front of it.
//   So do guards of extents, also those of later statements, which tell that extents are one.
// - A statement of the group that reads what an earlier one is going to copy reads it at the same point (it
// gets
//   the value), or reads elements that are known to be others (`disjoint`).
//
// What a group computes behind its last copy goes to the next one where a statement that does not fit the
// group fits there (`part = 2 * b[1:-1]; c[1:-1] = b[2:] - part`, behind a statement that stores to b): else
// its values would go through memory (`restart`).
//
// Memory that only took values from one statement to the next is then written by nothing (remove_unread).
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "graph/cast.h"
#include "graph/region/cfg.h"
#include "graph/region/copy.h"
#include "graph/region/memory.h"
#include "graph/region/passes.h"

namespace stator::graph {
namespace {

constexpr size_t kMostInsts = 160;  // of a group's body, stores aside
constexpr size_t kMostArrays = 24;  // that it reads, or that others see written
// Memory of its own: most of it only names what goes from one statement to the next, and is not written where
// nobody can look (remove_unread, region/checkpoints.cpp).
constexpr size_t kMostOwn = 96;

// Whether an operation on these types may raise a floating-point flag.
bool may_flag(const Inst& i, const Region& r) {
    if (i.op == RegionOp::Call) return true;
    if (i.op != RegionOp::Pointwise) return false;
    if (i.pointwise == Op::Cast)
        return cast_may_fault(i.operand, r.types[static_cast<size_t>(i.result)].dtype);
    if (!is_float(i.operand) && !is_complex(i.operand)) return false;
    return info(i.pointwise).faults != "-";
}

// Whether it may move in front of a group that is being collected: it reads no memory and changes none.
bool is_scalar_work(RegionOp op) {
    switch (op) {
        case RegionOp::Const:
        case RegionOp::Pointwise:
        case RegionOp::Call:
        case RegionOp::CheckedAdd:
        case RegionOp::CheckedSub:
        case RegionOp::CheckedMul:
        case RegionOp::FloorDiv:
        case RegionOp::FloorMod:
        case RegionOp::Finite:
        case RegionOp::Guard:
        case RegionOp::Index:
        case RegionOp::Extent:
        case RegionOp::View:
        case RegionOp::Flatten:
        case RegionOp::Scratch: return true;
        default: return false;
    }
}

// In a nest's body: its first operand is an array that it changes.
bool writes(RegionOp op) {
    return op == RegionOp::NestStore || op == RegionOp::NestScatter || op == RegionOp::NestAppend;
}

class Fuser {
  public:
    explicit Fuser(Region& r) : r_(r), cfg_(region_cfg(r)), memory_(r), next_cell_(scratch_cells(r)) {}

    void run() {
        for (const BlockId b : cfg_.order) {
            same_.clear();
            for (BlockId d = cfg_.idom[static_cast<size_t>(b)]; d >= 0; d = cfg_.idom[static_cast<size_t>(d)])
                for (const Inst& i : r_.blocks[static_cast<size_t>(d)].insts) learn(i);
            block(b);
        }
    }

  private:
    struct Commit {
        ValueId to, from;
    };
    struct Group {
        Inst first;  // the nest it began with
        int exit = -1;
        int64_t flags = 0;
        bool may_flag = false, calls = false;
        int members = 0;
        size_t insts = 0;  // of the body, stores aside
        NestBody body;
        std::map<ValueId, ValueId> at;  // value of an array's element at the nest's point
        std::map<std::string, ValueId> equal;
        std::set<ValueId> arrays, written;  // written: memory of its own
        std::vector<Commit> commits;
    };

    void block(BlockId b) {
        std::vector<Inst> insts = std::move(r_.blocks[static_cast<size_t>(b)].insts);
        out_.clear(), fresh_.clear(), cells_.clear(), grouped_ = false;
        for (Inst& i : insts) {
            if (i.op == RegionOp::Nest) {
                if (waiting_.empty())
                    nest(std::move(i));
                else
                    waiting_.push_back(std::move(i));
                continue;
            }
            const bool load =
                i.op == RegionOp::Load && grouped_ && reads_before(i.in[0]) && !will_write(i.in[0]);
            if (!is_scalar_work(i.op) && !load) {
                close_all();
                if (i.op == RegionOp::Store)
                    changed(i.in[0]);
                else if (has_effect(i))
                    fresh_.clear();
            } else if (grouped_ && i.exit >= 0) {
                if (group_.exit < 0 || takes_cell(i))
                    close_all();
                else
                    i.exit = group_.exit;
                if (grouped_ && i.op == RegionOp::Scratch) keep_clear(i);
            }
            if (i.op == RegionOp::Scratch) own(i);
            learn(i);
            const bool tells = i.op == RegionOp::Guard;
            out_.push_back(std::move(i));
            if (tells) join_waiting();
        }
        close_all();
        r_.blocks[static_cast<size_t>(b)].insts = std::move(out_);
    }

    // ---- statements that may still turn out to have the group's extents ----

    // `x = a[1:] - a[:-1]; y = b[2:] * 2; z = x + y`: that x and y are of one length is asked for z. Guards
    // move in front of the group, so what was passed over joins it then.
    bool may_join(const Inst& i) const {
        return i.in.size() == group_.first.in.size() && group_.exit >= 0 && !same_extents(i);
    }
    // Whether one of the statements that were passed over changes the array.
    bool will_write(ValueId array) {
        for (const Inst& w : waiting_)
            for (const Inst& k : r_.nests[static_cast<size_t>(w.ints[0])].insts)
                if (writes(k.op) && !apart(array, k.in[0])) return true;
        return false;
    }
    void join_waiting() {
        if (waiting_.empty() || !same_extents(waiting_.front())) return;
        nest_all(std::exchange(waiting_, {}));
    }
    void nest_all(std::vector<Inst> nests) {
        for (Inst& i : nests)
            if (waiting_.empty())
                nest(std::move(i));
            else
                waiting_.push_back(std::move(i));
    }
    void close_all() {
        while (close(), !waiting_.empty()) nest_all(std::exchange(waiting_, {}));
    }

    // ---- own memory ----

    static int64_t cells_of(const Inst& scratch) { return scratch.ints.size() > 1 ? scratch.ints[1] : 1; }
    // Whether the instruction makes memory where something may lie that the group still needs.
    bool takes_cell(const Inst& i) const {
        if (i.op != RegionOp::Scratch) return false;
        const auto it = cells_.lower_bound(i.ints[0]);
        return it != cells_.end() && *it < i.ints[0] + cells_of(i);
    }
    // Its memory keeps clear of what its own statement needs. In a group that is also what earlier statements
    // read, and what Python gets in front of them. The instruction may need more cells for that: then it gets
    // others.
    void keep_clear(Inst& scratch) {
        if (scratch.ints.size() < 2) return;
        std::vector<ValueId> needed(group_.arrays.begin(), group_.arrays.end());
        for (const Inst& w : waiting_)
            for (const Inst& k : r_.nests[static_cast<size_t>(w.ints[0])].insts)
                for (const ValueId v : k.in)
                    if (r_.types[static_cast<size_t>(v)].is_array()) needed.push_back(v);
        const auto& listed = r_.exits[static_cast<size_t>(group_.exit)].values;
        needed.insert(needed.end(), listed.begin(), listed.end());
        keep_clear_of(scratch, needed);
    }
    // Whether the array lies in memory that is known not to be one of the cells.
    bool lies_elsewhere(ValueId array, const Inst& scratch) const {
        const ValueId memory = root(array);
        if (memory < 0) return false;
        const Inst& made = memory_.maker(memory);
        if (made.result != memory || made.op != RegionOp::Scratch) return true;  // an input
        return made.ints[0] >= scratch.ints[0] + cells_of(scratch) ||
               scratch.ints[0] >= made.ints[0] + cells_of(made);
    }
    void keep_clear_of(Inst& scratch, const std::vector<ValueId>& arrays) {
        if (scratch.ints.size() < 2) return;
        const auto rank = static_cast<ptrdiff_t>(r_.types[static_cast<size_t>(scratch.result)].rank);
        const size_t before = scratch.in.size();
        for (const ValueId v : arrays) {
            if (!r_.types[static_cast<size_t>(v)].is_array() || lies_elsewhere(v, scratch)) continue;
            if (std::find(scratch.in.begin() + rank, scratch.in.end(), v) == scratch.in.end())
                scratch.in.push_back(v);
        }
        if (scratch.in.size() == before) return;
        const auto cells = static_cast<int64_t>(scratch.in.size()) - rank + 1;
        scratch.ints = {next_cell_, cells};
        next_cell_ += cells;
    }
    void own(const Inst& scratch) {
        for (int64_t k = 0; k < cells_of(scratch); ++k) cells_.insert(scratch.ints[0] + k);
        fresh_[scratch.result] = scratch.exit;
    }

    // Something that may be seen has been written: there is no leaving as if it had not been.
    void changed(ValueId array) {
        const ValueId memory = root(array);
        fresh_.erase(memory);
        for (auto& [scratch, exit] : fresh_) exit = -1;
    }

    // ---- extents ----

    void learn(const Inst& i) {
        if (i.op != RegionOp::Guard || !i.ints[0]) return;
        const Inst& c = memory_.maker(i.in[0]);
        if (c.op != RegionOp::Pointwise || c.pointwise != Op::Equal || c.operand != DType::I64) return;
        const ValueId a = one_of(c.in[0]), b = one_of(c.in[1]);
        if (a != b) same_[std::max(a, b)] = std::min(a, b);
    }
    ValueId one_of(ValueId v) const {
        for (auto it = same_.find(v); it != same_.end(); it = same_.find(v)) v = it->second;
        return v;
    }
    bool equal(ValueId a, ValueId b) const {
        if (one_of(a) == one_of(b)) return true;
        const auto x = memory_.constant(a), y = memory_.constant(b);
        return x && x == y;
    }

    // ---- memory ----

    ValueId root(ValueId array) const { return memory_.root(array); }

    // Whether no element is in both. Where that takes an axis that is long enough, the group tests it.
    bool apart(ValueId a, ValueId b) {
        const RegionMemory::Apart found = memory_.apart(a, b);
        if (!found.yes || found.extent < 0) return found.yes;
        if (group_.exit < 0) return false;  // nowhere to leave for the test
        need_longer(found.extent, found.longer_than);
        return true;
    }

    void need_longer(ValueId extent, int64_t d) {
        if (!longer_.emplace(extent, d).second) return;
        const size_t first = out_.size();
        RegionWriter w(r_, out_);
        Inst guard;
        guard.op = RegionOp::Guard;
        guard.in = {w.op(Op::Greater, {extent, w.constant(d)}, DType::Bool)};
        guard.ints = {1};
        guard.exit = group_.exit;
        out_.push_back(guard);
        for (size_t k = first; k < out_.size(); ++k) {
            out_[k].line = group_.first.line;
            memory_.made(out_[k]);
        }
    }

    // Whether the array holds now what it will hold behind the group so far.
    bool reads_before(ValueId array) {
        if (group_.written.contains(root(array))) return false;
        return std::all_of(group_.commits.begin(), group_.commits.end(),
                           [&](const Commit& c) { return apart(array, c.to); });
    }

    // ---- groups ----

    void nest(Inst i) {
        const NestBody body = r_.nests[static_cast<size_t>(i.ints[0])];
        if (grouped_ && known(body) && may_join(i)) {
            waiting_.push_back(std::move(i));
            return;
        }
        if (grouped_ && (add(i, body) || restart(i, body))) return;
        close();
        if (starts(body)) return begin(i, body);
        for (const Inst& k : body.insts)
            if (writes(k.op)) changed(k.in[0]);
        if (!known(body)) fresh_.clear();
        out_.push_back(std::move(i));
    }

    void begin(const Inst& i, const NestBody& body) {
        group_ = {};
        longer_.clear();
        group_.first = i;
        group_.exit = i.exit >= 0 ? i.exit : exit_of_memory(body);
        group_.members = 1;
        grouped_ = true;
        compute(i, body);
        tail_ = {i};
    }

    bool add(const Inst& i, const NestBody& body) {
        if (!fits(i, body)) return false;
        const bool commits = commit(body);
        if (!commits && !compute(i, body)) return false;
        ++group_.members;
        if (commits)
            copied_ = group_, tail_.clear();
        else
            tail_.push_back(i);
        return true;
    }

    // Closes the group without what it computes behind its last copy, which begins another together with the
    // statement. Where that does not fit there either, all is as before.
    bool restart(const Inst& i, const NestBody& body) {
        if (tail_.empty() || group_.commits.empty()) return false;
        // What reads memory that the group does not show to others would have it written for that.
        std::set<ValueId> kept = copied_.written, moved;
        std::vector<Inst> stay, go;
        for (const Inst& n : tail_) {
            const NestBody& b = r_.nests[static_cast<size_t>(n.ints[0])];
            const bool stays = (go.empty() && n.exit < 0) || loads_any(b, kept);
            if (stays && loads_any(b, moved)) return false;
            for (const Inst& k : b.insts)
                if (k.op == RegionOp::NestStore) (stays ? kept : moved).insert(k.in[0]);
            (stays ? stay : go).push_back(n);
        }
        if (go.empty()) return false;
        const Group group = group_, copied = copied_;
        const auto tail = tail_;
        const auto fresh = fresh_;
        const auto longer = longer_;
        const size_t insts = out_.size(), nests = r_.nests.size();
        for (const ValueId v : moved) fresh_[v] = -1;
        group_ = copied_;
        for (const Inst& n : stay) {
            const NestBody& b = r_.nests[static_cast<size_t>(n.ints[0])];
            for (const Inst& k : b.insts)
                if (k.op == RegionOp::NestStore) fresh_[k.in[0]] = -1;
            compute(n, b);
            ++group_.members;
        }
        close();
        begin(go[0], NestBody(r_.nests[static_cast<size_t>(go[0].ints[0])]));
        bool all = std::all_of(go.begin() + 1, go.end(), [&](const Inst& n) {
            return add(n, NestBody(r_.nests[static_cast<size_t>(n.ints[0])]));
        });
        all = all && add(i, body);
        if (!all) {
            out_.resize(insts);
            r_.nests.resize(nests);
            group_ = group, copied_ = copied, tail_ = tail, fresh_ = fresh, longer_ = longer;
            grouped_ = true;
            return false;
        }
        // Its memory was made with the exit of the group before in mind.
        for (Inst& s : out_)
            if (s.op == RegionOp::Scratch && group_.written.contains(s.result))
                keep_clear_of(s, r_.exits[static_cast<size_t>(group_.exit)].values);
        return true;
    }
    static bool loads_any(const NestBody& body, const std::set<ValueId>& arrays) {
        return std::any_of(body.insts.begin(), body.insts.end(), [&](const Inst& k) {
            return k.op == RegionOp::NestLoad && arrays.contains(k.in[0]);
        });
    }

    // Where it may leave in front of a nest that has no exit: as its memory does.
    int exit_of_memory(const NestBody& body) const {
        for (const Inst& i : body.insts)
            if (i.op == RegionOp::NestStore) return fresh_.at(i.in[0]);
        return -1;
    }

    bool starts(const NestBody& body) const {
        bool any = false;
        for (const Inst& k : body.insts) {
            if (k.op != RegionOp::NestStore) continue;
            if (!fresh_.contains(k.in[0])) return false;
            any = true;
        }
        return any && known(body);
    }

    static bool known(const NestBody& body) {
        return std::all_of(body.insts.begin(), body.insts.end(), [](const Inst& k) {
            switch (k.op) {
                case RegionOp::Const:
                case RegionOp::Pointwise:
                case RegionOp::Call:
                case RegionOp::NestLoad:
                case RegionOp::NestStore:
                case RegionOp::NestIndex: return true;
                default: return false;
            }
        });
    }

    bool same_extents(const Inst& i) const {
        for (size_t d = 0; d < i.in.size(); ++d)
            if (!equal(i.in[d], group_.first.in[d])) return false;
        return true;
    }

    bool fits(const Inst& i, const NestBody& body) {
        if (!known(body) || i.in.size() != group_.first.in.size()) return false;
        if ((i.exit >= 0 && group_.exit < 0) || !same_extents(i)) return false;
        bool calls = false, flags = false;
        std::set<ValueId> arrays = group_.arrays, own = group_.written;
        size_t insts = group_.insts;
        for (const Inst& k : body.insts) {
            calls |= k.op == RegionOp::Call;
            flags |= may_flag(k, r_);
            insts += k.op != RegionOp::NestStore;
            if (k.op == RegionOp::NestLoad || k.op == RegionOp::NestStore) arrays.insert(k.in[0]);
            if (k.op == RegionOp::NestStore && fresh_.contains(k.in[0])) own.insert(k.in[0]);
        }
        if (calls != group_.calls || arrays.size() - own.size() > kMostArrays || own.size() > kMostOwn ||
            insts > kMostInsts)
            return false;
        // Flags that one statement asks about and another does not.
        const int64_t asked = i.exit >= 0 ? i.ints[1] : 0;
        const bool alike = asked == group_.flags || (!asked && !flags) || (!group_.flags && !group_.may_flag);
        if (!alike) return false;
        return std::all_of(body.insts.begin(), body.insts.end(), [&](const Inst& k) {
            return k.op != RegionOp::NestLoad || group_.at.contains(k.in[0]) || reads_before(k.in[0]);
        });
    }

    // A copy of what the group has computed to where it belongs.
    bool commit(const NestBody& body) {
        if (body.insts.size() != 2 || body.insts[0].op != RegionOp::NestLoad ||
            body.insts[1].op != RegionOp::NestStore || body.insts[1].in[1] != body.insts[0].result)
            return false;
        const ValueId from = body.insts[0].in[0], to = body.insts[1].in[0];
        if (!group_.written.contains(from) || fresh_.contains(to)) return false;
        for (const Commit& c : group_.commits)
            if (c.to != to && !apart(c.to, to)) return false;
        group_.commits.push_back({to, from});
        // What was read there, at other points, is no more what is there.
        std::erase_if(group_.at, [&](const auto& known) {
            return known.first != to && !group_.written.contains(known.first) && !apart(known.first, to);
        });
        group_.at[to] = group_.at.at(from);
        group_.arrays.insert(to);
        return true;
    }

    bool compute(const Inst& nest, const NestBody& body) {
        for (const Inst& k : body.insts)
            if (k.op == RegionOp::NestStore && !fresh_.contains(k.in[0])) return false;
        std::map<ValueId, ValueId> renamed;
        for (Inst k : body.insts) {
            for (ValueId& v : k.in)
                if (auto it = renamed.find(v); it != renamed.end()) v = it->second;
            group_.calls |= k.op == RegionOp::Call;
            group_.may_flag |= may_flag(k, r_);
            if (k.op == RegionOp::NestStore) {
                group_.at[k.in[0]] = k.in[1];
                group_.written.insert(k.in[0]);
                group_.arrays.insert(k.in[0]);
                fresh_.erase(k.in[0]);
            } else if (ValueId v = have(k); v >= 0) {
                renamed[k.result] = v;
                continue;
            }
            group_.insts += k.op != RegionOp::NestStore;
            group_.body.insts.push_back(std::move(k));
        }
        if (nest.exit >= 0) group_.flags = nest.ints[1];
        return true;
    }

    // The value of an instruction of the body when there is one already; remembers it otherwise.
    ValueId have(const Inst& k) {
        if (k.op == RegionOp::NestLoad) {
            group_.arrays.insert(k.in[0]);
            auto [it, fresh] = group_.at.try_emplace(k.in[0], k.result);
            return fresh ? -1 : it->second;
        }
        std::string key = std::to_string(static_cast<int>(k.op)) + " " +
                          std::to_string(static_cast<int>(k.pointwise)) + " " +
                          std::to_string(static_cast<int>(k.operand)) + " " +
                          std::to_string(static_cast<int>(r_.types[static_cast<size_t>(k.result)].dtype));
        for (const ValueId v : k.in) key += " %" + std::to_string(v);
        for (const int64_t n : k.ints) key += " " + std::to_string(n);
        auto [it, fresh] = group_.equal.try_emplace(std::move(key), k.result);
        return fresh ? -1 : it->second;
    }

    void close() {
        if (!std::exchange(grouped_, false)) return;
        if (group_.members == 1) {
            out_.push_back(std::move(group_.first));
            return;
        }
        Inst all = group_.first;
        all.exit = group_.flags ? group_.exit : -1;
        all.ints = {static_cast<int64_t>(r_.nests.size()), group_.flags};
        r_.nests.push_back(std::move(group_.body));
        out_.push_back(all);
        if (group_.commits.empty()) return;
        NestBody copies;
        for (const Commit& c : group_.commits) {
            const RegionType t = r_.types[static_cast<size_t>(c.from)];
            Inst at;
            at.op = RegionOp::NestLoad;
            at.in = {c.from};
            at.line = all.line;
            at.result = r_.add({t.dtype, -1});
            memory_.made(at);
            Inst put;
            put.op = RegionOp::NestStore;
            put.in = {c.to, at.result};
            put.line = all.line;
            copies.insts.push_back(std::move(at));
            copies.insts.push_back(std::move(put));
        }
        all.exit = -1;
        all.ints = {static_cast<int64_t>(r_.nests.size()), 0};
        r_.nests.push_back(std::move(copies));
        out_.push_back(std::move(all));
        for (const Commit& c : group_.commits) changed(c.to);
    }

    Region& r_;
    const RegionCfg cfg_;
    RegionMemory memory_;
    std::map<ValueId, ValueId> same_;  // i64 values that a guard has found equal
    std::vector<Inst> out_;
    // Memory of the region's own that nothing has been put into since something was last to be seen, and
    // where to leave in front of it.
    std::map<ValueId, int> fresh_;
    std::set<int64_t> cells_;
    int64_t next_cell_;
    bool grouped_ = false;
    Group group_;
    Group copied_;               // the group as it was behind its last copy
    std::vector<Inst> tail_;     // what it computes behind that
    std::vector<Inst> waiting_;  // nests behind the group so far
    std::set<std::pair<ValueId, int64_t>> longer_;
};

// Own memory that is written and never read. A nest that looks at flags keeps something to do.
void remove_unread(Region& r) {
    std::vector<int> uses(r.types.size(), 0), puts(r.types.size(), 0);
    // What memory has to keep clear of is not read for that.
    const auto extents = [&](const Inst& scratch) {
        return static_cast<size_t>(r.types[static_cast<size_t>(scratch.result)].rank);
    };
    const auto use = [&](ValueId v) { ++uses[static_cast<size_t>(v)]; };
    std::set<int> exits;
    for (const Block& b : r.blocks) {
        for (const Inst& i : b.insts) {
            for (size_t k = 0; k < i.in.size(); ++k)
                if (i.op != RegionOp::Scratch || k < extents(i)) use(i.in[k]);
            exits.insert(i.exit);
            if (!has_body(i.op)) continue;
            for (const Inst& k : r.nests[static_cast<size_t>(i.ints[0])].insts) {
                for (const ValueId v : k.in) use(v);
                if (k.op == RegionOp::NestStore && i.op == RegionOp::Nest)
                    ++puts[static_cast<size_t>(k.in[0])];
            }
        }
        for_edges(b, [&](const Edge& e) { std::for_each(e.args.begin(), e.args.end(), use); });
        if (b.end.kind == Terminator::Leave) exits.insert(b.end.exit);
    }
    for (const int x : exits)
        if (x >= 0)
            for (const ValueId v : r.exits[static_cast<size_t>(x)].values) use(v);
    std::set<ValueId> unread;
    for (const Block& b : r.blocks)
        for (const Inst& i : b.insts)
            if (i.op == RegionOp::Scratch &&
                uses[static_cast<size_t>(i.result)] == puts[static_cast<size_t>(i.result)])
                unread.insert(i.result);
    for (Block& b : r.blocks)
        for (const Inst& i : b.insts) {
            if (i.op != RegionOp::Nest) continue;
            auto& insts = r.nests[static_cast<size_t>(i.ints[0])].insts;
            const auto is_put = [](const Inst& k) { return k.op == RegionOp::NestStore; };
            auto left = std::count_if(insts.begin(), insts.end(), is_put);
            std::erase_if(insts, [&](const Inst& k) {
                if (!is_put(k) || !unread.contains(k.in[0])) return false;
                if (left > 1) return --left, true;
                unread.erase(k.in[0]);
                return false;
            });
        }
    for (Block& b : r.blocks)
        std::erase_if(b.insts,
                      [&](const Inst& i) { return i.op == RegionOp::Scratch && unread.contains(i.result); });
}

}  // namespace

void fuse_nests(Region& r) {
    Fuser(r).run();
    simplify(r);
    remove_unread(r);
}

}  // namespace stator::graph
