// What the site of a kernel names: what it is called, and behind a zero byte the packed bytes of its binaries, one for
// each processor that runs it: "eltwise_binary\0" "1252,860,1428". Either may be missing.
//
// It is one text, so that a kernel needs no room for more than a name: kernels of one name are built in few sizes, and
// every text is kept once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttmem {

struct KernelName {
    static constexpr size_t kBinariesMost = 16;

    /// A journal is not trusted: sizes that cannot be are left out.
    explicit KernelName(const std::string& text) : name(text, 0, text.find('\0')) {
        if (name.size() < text.size() && !read(text, name.size() + 1)) packed_bytes.clear();
    }

    std::string name;
    std::vector<uint64_t> packed_bytes;

private:
    bool read(const std::string& text, size_t at) {
        for (; at < text.size() && packed_bytes.size() < kBinariesMost; ++at) {
            const size_t begin = at;
            uint64_t size = 0;
            for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
                size = size * 10 + static_cast<uint64_t>(text[at] - '0');
            if (at == begin || at - begin > 10) return false;
            packed_bytes.push_back(size);
            if (at == text.size()) return true;
            if (text[at] != ',') return false;
        }
        return false;  // a comma at the end, nothing at all, or too many
    }
};

}  // namespace ttmem
