// dlib's structural SVM for sequence labelling on words of binary letter images.
//
// Usage: letters_dlib DATA C EPSILON THREADS. DATA holds the number of words, then for each word its
// length, and for each letter its label and its set pixels (their number, then their places).
// Prints dlib's own progress (objective and gap of every cutting plane) and at the end the weights'
// training objective is the last one printed.
#include <dlib/svm_threaded.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

typedef std::vector<std::vector<unsigned long> > word_type;
const unsigned long PIXELS = 128, LABELS = 26;

struct letter_features {
    typedef word_type sequence_type;
    unsigned long order() const { return 1; }
    unsigned long num_labels() const { return LABELS; }
    unsigned long num_features() const { return LABELS * PIXELS + LABELS * LABELS; }
    template <typename feature_setter, typename EXP>
    void get_features(feature_setter& set, const word_type& x, const dlib::matrix_exp<EXP>& y,
                      unsigned long position) const {
        for (unsigned long pixel : x[position]) set(y(0) * PIXELS + pixel);
        if (position > 0) set(LABELS * PIXELS + y(1) * LABELS + y(0));
    }
};
void serialize(const letter_features&, std::ostream&) {}
void deserialize(letter_features&, std::istream&) {}

int main(int argc, char** argv) {
    std::ifstream file(argv[1]);
    unsigned long words, length, count;
    file >> words;
    std::vector<word_type> samples(words);
    std::vector<std::vector<unsigned long> > labels(words);
    for (unsigned long i = 0; i < words; ++i) {
        file >> length;
        samples[i].resize(length);
        labels[i].resize(length);
        for (unsigned long t = 0; t < length; ++t) {
            file >> labels[i][t] >> count;
            samples[i][t].resize(count);
            for (unsigned long& pixel : samples[i][t]) file >> pixel;
        }
    }
    std::cout.setf(std::ios::unitbuf);
    letter_features features;
    dlib::structural_sequence_labeling_trainer<letter_features> trainer(features);
    trainer.set_c(std::atof(argv[2]));  // dlib averages over words: C here is ours times their number
    trainer.set_epsilon(std::atof(argv[3]));
    trainer.set_num_threads(std::atoi(argv[4]));
    trainer.set_max_cache_size(0);
    trainer.be_verbose();
    std::cout << "start" << std::endl;
    trainer.train(samples, labels);
    std::cout << "done" << std::endl;
    return 0;
}
