// What the parts of the CUDA printer share. cuda/source.h tells the idea.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/cuda/ops.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/words.h"

namespace stator::kernels::cuda {

// Lines of a kernel's body, indented by block.
class Lines {
  public:
    void line(const std::string& text);
    void open(const std::string& head);  // "head {"
    void close();
    std::string text;

  private:
    int depth_ = 1;
};

// One kernel. A pointer to the row of each access is made once a row; `names_` holds the expression of every
// statement that has a value at the current place.
class KernelPrinter {
  public:
    KernelPrinter(const Program& p, const graph::Graph& g, const GpuKernel& k, std::string name, Uses& uses);
    // Empty `error` when the kernel was printed.
    std::string print(CudaKernel* out, std::string* error);

  private:
    // ---- cuda/emit.cpp: parameters, indices, addresses ----
    std::string param(CudaParamKind kind, int index);
    std::string param_name(const CudaParam& p) const;
    std::string param_type(const CudaParam& p) const;
    bool stored(int buffer) const;
    std::string signature() const;
    std::string number(const Int& i);
    std::string product(const std::vector<Int>& extents);
    // Sum of the terms of axes [from, to) times their indices: in elements where all terms are dense, else in
    // bytes.
    std::string terms(const Access& a, int from, int to, bool offset, bool* bytes);
    std::string term_factor(const Access& a, const Term& t, bool bytes);
    // Names the indices of axes that `linear` counts as one, the last one fastest.
    void split(const std::string& linear, const std::vector<Int>& extents, int first_axis);

    // ---- cuda/emit.cpp: statements ----
    const LoopNest& nest() const { return *p_.code[static_cast<size_t>(nest_)]; }
    const Stmt& stmt(int i) const { return nest().stmts[static_cast<size_t>(i)]; }
    int count() const { return static_cast<int>(nest().stmts.size()); }
    bool innermost(int i) const { return stmt(i).depth == nest().full_depth(); }
    void enter(int nest, int row_axes);
    void fail(const std::string& why);
    std::string variable(const char* letter, int i) const;
    void scalars();  // what is computed before all loops
    const std::string* row_value(int i) const;
    bool stays_in_rows(int i) const;
    void row_pointers();         // pointers to the current row of every access
    std::string element(int i);  // what an access names at the current indices
    bool vector_access(int i) const;
    bool shifted(int i) const;
    bool names_column() const;
    std::string aligned_test() const;
    void value(int i, const std::string& text);
    void compute(int i);
    std::string contracted(int i) const;
    void load(int i, const std::string& from);
    void store(int i, const std::string& to);
    // The innermost statements at the current indices: of single elements, or (lane >= 0) of element `lane`
    // of the vectors whose words begin with `words`.
    void body(int lane = -1, const std::string& words = "x");
    void row_statements(const std::string& writer);

    // ---- cuda/forms.cpp ----
    void scalar_form();
    void set_scalars();
    void elementwise();
    void elementwise_vectors();
    // ---- vectors: words x<i>_<w> of statement i's access ----
    int word_bytes(int i) const;
    Word word(int i) const;
    void declare_words(int i, const std::string& words);
    void move_words(int i, const std::string& words, const std::string& pointer, bool store);
    void load_words(int i, const std::string& words, const std::string& at);
    std::string lane_of(int i, const std::string& words, int lane) const;
    void set_lane(int i, const std::string& words, int lane, const std::string& value);
    // ---- cuda/tiles.cpp ----
    void tiles();
    bool tiled(int i) const { return k_.form == Form::Tiles && innermost(i) && crosses(stmt(i).access, k_); }
    std::string tile_element(int i, int lane) const;
    std::string step_bytes(const Access& a, int axis);
    void tile_indices();
    void fill_tile(int i);
    void empty_tile(int i);
    void tile_columns();

    void rows();
    void rows_nest();
    void stage_pointers();
    struct Columns {  // the loop of a thread over some of the columns
        std::string begin, first, step, end, guard;
    };
    void column_loops(const Columns& c);
    void columns();
    // ---- rows and columns that are cut into slices ----
    bool cut() const { return k_.phases > 1; }
    void slice(const std::string& count, int whole);
    std::string left_behind(const std::string& results, const std::string& result);
    void partial();
    void combine();
    void accumulators();
    void accumulate(int i);
    std::string combiner(int i) const;
    void result(int i);
    std::string accumulator_type(int i) const;

    const Program& p_;
    const graph::Graph& g_;
    const GpuKernel& k_;
    std::string name_;
    Uses& uses_;
    Lines out_;
    std::vector<CudaParam> params_;
    std::string error_;
    int nest_ = -1;
    int row_axes_ = 0;
    int step_ = 0;     // Rows, Columns: reductions of nests so far, which are the launches so far where cut
    int partial_ = 0;  // reductions so far
    std::vector<std::string> index_;     // per axis of the current nest
    std::vector<std::string> names_;     // per statement of the current nest
    std::vector<std::string> pointers_;  // per statement of the current nest: pointer to its row
    std::vector<Reduction> reductions_;  // per statement of the current nest
    std::string position_ = "k";         // of the current element among the reduced ones
    std::vector<std::pair<std::string, int>>
        aligned_;  // all pointers that vectors are read from, and of how many bytes
    // Rows: what was stored once per row by this kernel, and operands that are kept in shared memory.
    std::vector<std::pair<const Access*, std::string>> row_values_;
    std::vector<Access> private_;  // stored once per row, and read by nobody else: never in memory
    std::vector<std::pair<Access, std::string>> row_pointers_;  // of the current row
    struct Stage {
        const Access* access;
        int size;
        bool filled = false;
        std::string name;
    };
    std::vector<Stage> stages_;
    Stage* stage_of(int i);
};

}  // namespace stator::kernels::cuda
